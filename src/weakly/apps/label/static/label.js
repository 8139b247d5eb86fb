// One segment after the other: it plays, a key answers, the next one is there already.
import { el, percent, table, toast } from "./dom.js";
import { Problem, readToken } from "./server.js";

const API = "api/1";
const PATIENCE = 60000; // milliseconds until what was sent is sent again
const IDLE = 30; // seconds without a sign of life that still count as work
const SPEEDS = [1, 1.5, 2, 0.5];
const $ = (id) => document.getElementById(id);
const token = readToken(sessionStorage); // of this tab: several people may share a browser

/** A name that no other answer has; also where the browser knows no secure context. */
const newId = () => [...crypto.getRandomValues(new Uint8Array(15))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

async function call(path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const how = body === undefined ? { headers } : { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body), signal: AbortSignal.timeout(PATIENCE) };
  let response;
  try {
    response = await fetch(`${API}/${path}`, how);
  } catch {
    throw new Problem(null, "The server does not answer; is weakly label still running?", 0);
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Problem(said.field ?? null, said.message ?? `The server answered ${response.status}.`, response.status);
}

const json = async (path, body) => (await call(path, body)).json();
const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

function complain(error) {
  $("problem").textContent = error.message;
  $("problem").hidden = false;
}

// Sending: what was answered is kept in this browser, for this campaign and person, until the server has stored it;
// it is sent again under the same name, also after a reload, by whichever tab comes first. ---------------------------

const shelf = () => `weakly ${JSON.stringify([me.campaign, me.annotator])} `;
const unsent = () => Object.keys(localStorage).filter((key) => key.startsWith(shelf())).sort();

function state(text) {
  $("saved").textContent = text;
  $("saved").classList.toggle("waiting", text.startsWith("not"));
}

/** The answer to a question that is asked until the server can tell; what it refuses is a problem at once. */
async function patiently(path) {
  for (let wait = 0.2; ; wait = Math.min(5, 2 * wait)) {
    try {
      const said = await json(path);
      $("problem").hidden = true;
      return said;
    } catch (error) {
      if (error.status && error.status < 500 && error.status !== 429) throw error;
      complain(error);
      await pause(wait);
    }
  }
}

function send(path, body) {
  const key = `${shelf()}${Date.now()} ${body.id}`;
  try {
    localStorage.setItem(key, JSON.stringify({ path, body }));
  } catch {
    // A browser that keeps nothing: it is sent all the same, and only a reload would lose it.
  }
  return deliver(key, path, body);
}

async function deliver(key, path, body) {
  state("saving…");
  for (let wait = 0.2; ; wait = Math.min(5, 2 * wait)) {
    try {
      const said = await json(path, body);
      if (path === "tell" && typeof said.kept !== "boolean") throw new Problem(null, "The server does not say whether it has stored the answer.", 0);
      localStorage.removeItem(key);
      $("problem").hidden = true;
      state(said.kept === false ? "not saved: you had answered this one already" : "saved");
      return said;
    } catch (error) {
      if (error.status === 422) { // the one status that is about the answer itself: it can never be stored
        localStorage.removeItem(key);
        state("not saved");
        throw new Problem(error.field, `Not saved: ${error.message}`, 422);
      }
      state("not saved yet, trying again…");
      complain(error);
      await pause(wait);
    }
  }
}

/** Send what earlier pages could not; what was refused, as problems. */
async function deliverUnsent() {
  const refused = [];
  for (const key of unsent()) {
    const { path, body } = JSON.parse(localStorage.getItem(key) ?? "{}"); // another tab may have sent it by now
    if (path) await deliver(key, path, body).catch((error) => refused.push(error));
  }
  return refused;
}

// Loading: sound and picture of a segment, fetched before they are needed. -------------------------------------------

const kept = new Map();

function load(item, context = false) {
  const key = `${item.query} ${context}`;
  if (!kept.has(key)) {
    const loading = fetchMedia(item, context);
    loading.catch(() => kept.delete(key));
    kept.set(key, loading);
    for (const old of [...kept.keys()].slice(0, Math.max(0, kept.size - 12))) {
      kept.get(old).then((media) => [media.picture, media.sound].forEach((url) => url && URL.revokeObjectURL(url)), () => {});
      kept.delete(old);
    }
  }
  return kept.get(key);
}

async function fetchMedia(item, context) {
  if (item.kind === "video") {
    const ahead = el("video", { preload: "auto" }); // the browser keeps what it has read of the file
    ahead.src = `${API}/${item.video}`;
    return { picture: null, sound: null, film: ahead.src, span: context ? item.with_context : [item.onset, item.offset] };
  }
  const more = context ? "?context=true" : "";
  const url = async (response) => URL.createObjectURL(await response.blob());
  const picture = call(`picture/${item.query}${more}`);
  const sound = item.kind === "sound" ? url(await call(`sound/${item.query}${more}`)) : null;
  const drawn = await picture;
  return { picture: await url(drawn), sound: await sound, span: drawn.headers.get("Weakly-Span").split(",").map(Number) };
}

// Time at work: while the page is seen and somebody does something, or something plays. ------------------------------

const clock = { active: 0, last: 0, sign: 0 };

function tick() {
  const now = performance.now() / 1000;
  const busy = playing() || now - clock.sign < IDLE;
  if (document.visibilityState === "visible" && busy && clock.last) clock.active += now - clock.last;
  clock.last = now;
}
function sign() {
  tick();
  clock.sign = performance.now() / 1000;
}
setInterval(tick, 250);
document.addEventListener("visibilitychange", tick);
for (const kind of ["keydown", "pointerdown", "pointermove"]) document.addEventListener(kind, sign, { passive: true, capture: true });

// The segment on the screen. -----------------------------------------------------------------------------------------

const now = { items: [], item: null, shown: 0, plays: 0, context: false, usedContext: false, picture: false, usedPicture: false, sample: 0, speed: 1, busy: false, started: false, span: [0, 1], reviewed: 0, reached: 0, playedTo: null };
/** What plays: the sound of the segment, or the film of the whole recording, of which the segment is shown. */
const player = () => (now.item?.kind === "video" ? $("film") : $("sound"));
const playing = () => !player().paused && !player().ended;
/** Where the recording is being played, in its seconds. */
const position = () => (now.item?.kind === "video" ? 0 : now.span[0]) + player().currentTime;
/** What really played since the last look: how many seconds, and how far into the segment. */
function review() {
  const at = position();
  if (now.playedTo === null || now.item === null) return;
  now.reviewed += Math.max(0, at - now.playedTo);
  now.reached = Math.max(now.reached, at - now.item.onset);
  now.playedTo = at;
}
const silence = () => {
  review();
  now.playedTo = null;
  ["sound", "film"].forEach((id) => $(id).pause());
};

function ticks(low, high, most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(10)));
}

function axes(span, top) {
  const wide = $("screen").clientWidth;
  const [low, high] = span.map((at) => at - now.item.onset); // from the segment's start: where it lies tells nothing
  $("seconds").replaceChildren(...ticks(low, high, Math.max(2, wide / 90)).map((at) => {
    const mark = el("span", { text: `${at} s` });
    const share = (at - low) / (high - low);
    mark.style.left = `${100 * share}%`;
    if (share < 0.03) mark.style.transform = "none"; // the words stay inside, the place stays true
    else if (share > 0.97) mark.style.transform = "translateX(-100%)";
    return mark;
  }));
  const names = now.item.channels.map((name, k, all) => {
    const mark = el("span", { text: name, title: name });
    mark.style.bottom = `${100 * (1 - (k + 0.5) / all.length)}%`;
    return mark;
  });
  $("kilohertz").replaceChildren(...names, ...(top === null ? [] : ticks(0, top, 4).filter((at) => at < 0.97 * top)).map((at) => {
    const mark = el("span", { text: at === 0 ? "kHz" : String(at) });
    mark.style.bottom = `${Math.max(3, (100 * at) / top)}%`;
    return mark;
  }));
}

function edges(span, item) {
  const [low, high] = span;
  for (const [id, seconds] of [["before", item.onset - low], ["after", high - item.offset]]) {
    $(id).hidden = !now.context || seconds <= 0;
    $(id).style.width = `${(100 * seconds) / (high - low)}%`;
  }
}

async function show(said, done = "") {
  now.items = said.items;
  const item = said.items[0];
  progress(said);
  $("finished").hidden = Boolean(item);
  $("labeling").hidden = !item;
  $("help").hidden = !item;
  if (!item) return finish(said);
  Object.assign(now, { item, plays: 0, context: false, usedContext: false, usedPicture: now.picture, reviewed: 0, reached: 0, playedTo: null });
  $("begin").textContent = item.kind === "sound" ? "Start listening" : "Start";
  hear(item);
  $("context").setAttribute("aria-pressed", "false");
  document.querySelectorAll(".verdict .chosen").forEach((node) => node.classList.remove("chosen"));
  const length = (item.offset - item.onset).toPrecision(3);
  const some = item.n_channels > item.channels.length ? `, the first ${item.channels.length} of ${item.n_channels} channels` : "";
  $("view").classList.toggle("named", item.channels.length > 0);
  $("question").replaceChildren(`Is there ${item.label} in this segment? `, el("span", { class: "soft", text: `${Number(length)} s${item.recording ? ` of ${item.recording}` : ""}${some}` }));
  document.title = `${item.label}? · weakly label`;
  $("announce").textContent = `${done}Segment ${said.progress.answered + 1}, ${Number(length)} seconds. Is there ${item.label}?`;
  await draw();
  Object.assign(clock, { active: 0, last: performance.now() / 1000, sign: performance.now() / 1000 }); // from when it is there
  now.shown = performance.now();
  for (const next of said.items.slice(1)) load(next).catch(() => {});
}

/** While a person's hearing is measured, the ear decides: no picture unless it is asked for, nothing around, one speed. */
function hear(item) {
  const alone = Boolean(me.measuring) && item.kind === "sound";
  $("screen").classList.toggle("unseen-picture", alone && !now.picture);
  $("instruct").hidden = !me.measuring;
  $("sample").hidden = !alone;
  $("listen").textContent = `${alone ? "Listen" : "Look"} for: ${me.listen_for}. Answer present if you notice any of it, absent if not; some segments hold nothing, some hold all of it. Answer when you have ${alone ? "heard" : "seen"} the segment.`;
  $("look").hidden = !alone;
  for (const id of ["context", "speed"]) $(id).hidden = $(id).disabled = Boolean(me.measuring);
}

async function draw() {
  const item = now.item;
  $("screen").classList.add("loading");
  let media;
  try {
    media = await load(item, now.context);
  } catch (error) {
    complain(new Error(`${error.message} (This segment cannot be shown; answer unsure to go on.)`));
    $("screen").classList.remove("loading");
    return;
  }
  if (now.item !== item) return;
  now.span = media.span;
  const isFilm = item.kind === "video";
  $("screen").classList.toggle("film", isFilm);
  $("picture").hidden = isFilm;
  $("film").hidden = !isFilm;
  if (!isFilm) $("picture").src = media.picture;
  else if ($("film").src !== media.film) $("film").src = media.film;
  const what = item.kind === "sound" ? "Spectrogram" : `Traces of ${item.channels.length} of ${item.n_channels} channels:`;
  $("picture").alt = `${what} ${(media.span[1] - media.span[0]).toFixed(2)} s`;
  $("film").setAttribute("aria-label", `Video, ${(media.span[1] - media.span[0]).toFixed(2)} s`);
  if (media.sound) $("sound").src = media.sound;
  else $("sound").removeAttribute("src");
  axes(media.span, item.top);
  edges(media.span, item);
  $("screen").classList.remove("loading");
  $("start").hidden = now.started || item.kind === "traces";
  if (now.started || item.kind === "traces") play();
}

async function play() {
  now.plays += 1;
  if (now.item.kind === "traces") { // all of it is seen at once
    Object.assign(now, { reviewed: now.span[1] - now.span[0], reached: now.item.offset - now.item.onset });
    return;
  }
  const isFilm = now.item.kind === "video";
  review();
  now.playedTo = null;
  player().currentTime = isFilm ? now.span[0] : 0;
  player().playbackRate = now.speed;
  try {
    await player().play();
    now.playedTo = now.span[0];
    now.started = true;
    $("start").hidden = true;
    requestAnimationFrame(follow);
  } catch (error) {
    if (error.name === "NotAllowedError") $("start").hidden = false; // the browser waits for a first touch
    else if (error.name !== "AbortError") complain(new Error(`This segment cannot be played: ${error.message}`));
  }
}

function follow() {
  review();
  const [low, high] = now.item?.kind === "video" ? now.span : [0, player().duration || 1];
  const at = player().currentTime;
  if (now.item?.kind === "video" && playing() && at >= high - 0.02) {
    player().pause(); // the film goes on, the segment does not
    if (at > high) player().currentTime = high; // a busy machine stops late: what stands still is the segment's end
  }
  $("head").hidden = !playing();
  $("head").style.left = `${(100 * (at - low)) / (high - low)}%`;
  if (playing()) requestAnimationFrame(follow);
}
setInterval(() => playing() && document.hidden && follow(), 100); // a hidden page draws no frames

function progress({ progress: at }) {
  const pace = at.seconds_per_query === null ? "" : `, ${at.seconds_per_query.toFixed(1)} s each`;
  const minutes = at.minutes_left < 1 ? "under a minute" : `about ${Math.round(at.minutes_left)} min`;
  const ahead = at.is_expected ? `about ${at.left} left, ${minutes}` : at.follows_answers ? `${at.left} or more left` : `${at.left} left, ${minutes}`;
  const left = at.left ? ahead : "none left";
  $("progress").textContent = `${at.answered} answered${pace}; ${left}`;
  $("bar").max = Math.max(1, at.answered + at.left);
  $("bar").value = at.answered;
  $("undo").disabled = $("back").disabled = !at.can_undo;
}

// What people do. ----------------------------------------------------------------------------------------------------

/** Runs one thing at a time; what is pressed meanwhile is not taken, because its segment was not heard yet. */
async function once(work) {
  if (now.busy) return;
  now.busy = true;
  $("labeling").setAttribute("aria-busy", "true");
  try {
    await work();
  } catch (error) {
    complain(error);
  } finally {
    now.busy = false;
    $("labeling").removeAttribute("aria-busy");
  }
}

const answer = (present, button) => once(async () => {
  if (!now.item || performance.now() - now.shown < 80) return;
  tick();
  silence();
  $(button).classList.add("chosen");
  const length = now.item.offset - now.item.onset;
  const heard = { reviewed_seconds: Number(now.reviewed.toFixed(3)), reached: Number(Math.min(now.reached, length).toFixed(3)) };
  const body = { query: now.item.query, present, id: newId(), seconds: Number(clock.active.toFixed(3)), ...heard, plays: now.plays, speed: now.speed, context: now.usedContext, picture: now.usedPicture };
  let said;
  try {
    said = await send("tell", body);
  } catch (error) {
    await show(await patiently("ask"), `${button}, not saved. `);
    throw error; // which says why
  }
  if (!said.kept) toast("You had answered this one already, perhaps in another tab.");
  await show(said.items ? said : await patiently("ask"), `${button}, ${said.kept ? "saved" : "not saved: answered before"}. `);
  if (said.problem) complain(new Error(said.problem));
  if ($("measured").open || (said.has_targets && said.progress.answered % 5 === 0)) measured().catch(complain);
});

const undo = () => once(async () => {
  silence();
  const said = await send("undo", { id: newId() });
  toast(said.undone ? "Taken back: answer it again." : "There is nothing to take back.");
  now.item = null;
  await show(said, said.undone ? "Taken back. " : "");
});

const context = () => once(async () => {
  now.context = !now.context;
  now.usedContext = now.usedContext || now.context;
  $("context").setAttribute("aria-pressed", String(now.context));
  await draw();
});

function look() {
  now.picture = !now.picture;
  now.usedPicture = now.usedPicture || now.picture;
  $("look").setAttribute("aria-pressed", String(now.picture));
  $("screen").classList.toggle("unseen-picture", !now.picture);
}

/** A whole event, so that everybody knows what is meant; each time another one. */
const sample = () => once(async () => {
  silence();
  const heard = new Audio(URL.createObjectURL(await (await call(`sample/${now.sample}`)).blob()));
  now.sample += 1;
  heard.addEventListener("ended", () => URL.revokeObjectURL(heard.src));
  $("question").focus(); // so that Space plays the segment, not the example again
  await heard.play();
});

function replay() {
  now.started = true;
  play();
}

function speed() {
  now.speed = SPEEDS[(SPEEDS.indexOf(now.speed) + 1) % SPEEDS.length];
  $("speed").firstChild.textContent = `Speed ${now.speed}× `;
  player().playbackRate = now.speed;
}

function noting(open) {
  $("noting").hidden = !open;
  if (open) $("note").focus();
  else $("question").focus();
}

$("noting").addEventListener("submit", (event) => {
  event.preventDefault();
  once(async () => {
    await send("bookmark", { query: now.item.query, note: $("note").value, id: newId() });
    toast("Bookmarked.");
    $("note").value = "";
    noting(false);
  });
});

function help() {
  $("keys").hidden = !$("keys").hidden;
  $("help").setAttribute("aria-expanded", String(!$("keys").hidden));
}

/** What is measured so far; asked for once at a time, because working it out takes the server a moment. */
async function measured() {
  if (now.measuring) return;
  now.measuring = true;
  try {
    if (!$("numbers").childElementCount) $("numbers").replaceChildren(el("p", { text: "Working it out…" }));
    const { sentences, may_stop: stop } = await json("live");
    $("numbers").replaceChildren(...sentences.map((text) => el("p", { text })));
    if (stop && $("enough").hidden) $("announce").textContent = "You may stop now.";
    $("enough").hidden = !stop;
  } finally {
    now.measuring = false;
  }
}

async function finish(said) {
  now.item = null;
  silence();
  const { card, no_card: refused } = await json("live").catch(() => ({ card: null }));
  const words = card ? card.summary : refused;
  $("card").hidden = !words;
  if (words) $("card").textContent = words[0].toUpperCase() + words.slice(1) + ".";
  $("thanks").textContent = !said.measuring ? "Everything is answered. Thank you." : card ? "Measured. Thank you." : "Thank you.";
  $("thanks").focus();
  document.title = "done · weakly label";
  if (!me.is_owner) return;
  await owner();
  if (said.measuring && card) await write();
}

async function owner() {
  $("owner").hidden = false;
  const team = await json("team");
  const alpha = team.alpha === null ? "" : `, Krippendorff's alpha ${team.alpha.toFixed(3)}`;
  const agree = team.annotators.length < 2 ? "" : team.agreement === null ? "No segment has two sure answers yet." : `Two people agree on ${percent(team.agreement)} of ${team.compared} pairs of answers${alpha}.`;
  $("agreement").textContent = `${team.settled} of ${team.queries} segments are answered. ${agree}`;
  $("team").replaceChildren(table(team.annotators, { caption: "Who answered what" }));
  if (team.bookmarks.length) $("team").append(table(team.bookmarks, { caption: "Bookmarks" }));
  if (now.told !== team.answers && team.answers && !me.measuring) {
    now.told = team.answers;
    const { sentences } = await json("live");
    $("quality").replaceChildren(...sentences.map((text) => el("p", { text })));
  }
}

async function write() {
  $("export").disabled = true;
  try {
    const { folder, files } = await json("export", {});
    const plan = me.measuring && files.length === 1 ? `; weakly plan --annotator ${folder}/${files[0]} plans for you` : "";
    $("written").textContent = `Wrote ${files.join(", ")} in ${folder}${plan}.`;
  } catch (error) {
    complain(error);
  }
  $("export").disabled = false;
}
$("export").addEventListener("click", write);

const buttons = {
  present: () => answer(1, "present"), absent: () => answer(0, "absent"), unsure: () => answer(null, "unsure"),
  replay, undo, back: undo, speed, context, look, sample, bookmark: () => noting(true), forget: () => noting(false), help, start: replay,
};
for (const [id, work] of Object.entries(buttons)) $(id).addEventListener("click", work);
$("measured").addEventListener("toggle", () => $("measured").open && measured().catch(complain));
addEventListener("resize", () => now.item && axes(now.span, now.item.top));

const KEYS = {
  p: "present", 1: "present", a: "absent", 0: "absent", u: "unsure", " ": "replay", r: "replay", z: "undo", backspace: "undo",
  s: "speed", c: "context", v: "look", b: "bookmark", "?": "help",
};
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input, textarea");
  if (event.key === "Escape" && !$("noting").hidden) return noting(false);
  if (typing || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  if ((event.key === " " || event.key === "Enter") && event.target.matches?.("button, summary, a") && event.target.id !== "start") return;
  const key = event.key.toLowerCase();
  if (key === "m" && !$("labeling").hidden) {
    $("measured").open = !$("measured").open;
    return;
  }
  const id = KEYS[key];
  if (!id || (now.item === null && !["undo", "help"].includes(id))) return;
  event.preventDefault();
  if (!$(id).disabled && !$(id).hidden) buttons[id]();
});

// The beginning. -----------------------------------------------------------------------------------------------------

let me = {};
try {
  me = await patiently("me");
  if (me.measuring) $("export").textContent = "Write the card";
  $("who").textContent = [me.label, me.annotator].filter(Boolean).join(" · ");
  if (me.annotator === null) {
    $("help").hidden = true;
    await owner();
    setInterval(() => owner().then(() => { $("problem").hidden = true; }, complain), 5000);
  } else {
    const refused = await deliverUnsent();
    await show(await patiently("ask"));
    if (refused.length) complain(new Error(refused.map((error) => error.message).join(" ")));
  }
} catch (error) {
  complain(error);
}
