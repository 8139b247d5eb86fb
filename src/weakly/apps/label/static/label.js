// One segment after the other: it plays, a key answers, the next one is there already.
import { el, toast } from "./dom.js";
import { SPEEDS, loop, play, player, seek, silence, toggle } from "./ear.js";
import { guide, reading } from "./guide.js";
import { stills } from "./film.js";
import { actionOf, prepare } from "./hand.js";
import { held, letGo, marking, marks, take } from "./mark.js";
import { owner, write } from "./owner.js";
import { $, complain, me, newId, now } from "./state.js";
import { leave, strips } from "./strips.js";
import { all, offer, pressed, ticked } from "./together.js";
import { axes, band, edges, pointers, wave } from "./view.js";
import { call, deliverUnsent, json, load, patiently, send } from "./wire.js";
import { begin, rested, spent } from "./work.js";

const WORDS = { 1: "present", 0: "absent", null: "unsure" };
const asked = (item) => (item.classes ? "Which of these are present in this segment?" : me.marking ? `Where is ${item.label}?` : `Is ${item.label} present in this segment?`);
const length = (item) => Number((item.offset - item.onset).toPrecision(3));

// The segment on the screen. -----------------------------------------------------------------------------------------

/** What the server says comes next: a segment, or the end. */
async function show(said, done = "") {
  ended(false);
  now.items = said.items;
  progress(said);
  Object.assign(now, { again: null, pass: [] });
  const item = said.items[0];
  $("finished").hidden = Boolean(item);
  $("labeling").hidden = !item;
  $("help").hidden = !item;
  $("ending").hidden = !item || !me.is_owner || Boolean(me.measuring);
  if (!item) {
    finish(said).catch(complain); // working out what was measured takes a moment, in which an undo is taken
    return;
  }
  await put(item, `${done}Segment ${said.progress.answered + 1}, ${length(item)} seconds. ${item.classes ? "Which classes are present?" : `Is ${item.label} present?`}`);
  for (const next of said.items.slice(1)) load(next).catch(() => {});
}

async function put(item, announced) {
  Object.assign(now, { item, span: [item.onset, item.offset], plays: 0, context: false, usedContext: false, usedPicture: now.picture, reviewed: 0, reached: 0, playedTo: null });
  loop(null);
  $("begin").textContent = item.kind === "sound" ? "Start listening" : "Start";
  hear(item);
  $("context").setAttribute("aria-pressed", "false");
  document.querySelectorAll(".verdict .chosen").forEach((node) => node.classList.remove("chosen"));
  const some = item.n_channels > item.channels.length ? `, the first ${item.channels.length} of ${item.n_channels} channels` : "";
  $("view").classList.toggle("named", item.channels.length > 0);
  $("question").replaceChildren(`${asked(item)} `, el("span", { class: "soft", text: `${length(item)} s${item.recording ? ` of ${item.recording}` : ""}${some}` }));
  $("before-said").hidden = now.again === null;
  if (now.again) {
    const left = now.pass.length ? ` ${now.pass.length} more after this one.` : "";
    $("before-words").textContent = `You said ${now.again.said}. Answer again, or leave it.${left}`;
    if (!item.classes) $(WORDS[now.again.present]).classList.add("chosen");
  }
  offer(item);
  take(item);
  for (const id of ["later", "undo"]) $(id).hidden = now.again !== null;
  document.title = `${item.label}? · weakly label`;
  $("announce").textContent = announced;
  await draw();
  begin(); // from when it is there
  now.shown = performance.now();
}

/** While a person's hearing is measured, the ear decides: no picture unless it is asked for, nothing around, one speed. */
function hear(item) {
  const alone = Boolean(me.measuring) && item.kind === "sound";
  document.body.dataset.kind = item.kind;
  $("view").classList.toggle("unseen-picture", alone && !now.picture);
  $("instruct").hidden = !me.measuring;
  $("sample").hidden = !alone;
  $("listen").textContent = `${alone ? "Listen" : "Look"} for: ${me.listen_for}. Answer present if you notice any of it, absent if not; some segments hold nothing, some hold all of it. Answer when you have ${alone ? "heard" : "seen"} the segment.`;
  $("look").hidden = !alone;
  for (const id of ["toggle", "replay", "loop", "speed"]) $(id).hidden = $(id).disabled = item.kind === "traces"; // all is seen at once
  if (me.measuring) for (const id of ["context", "speed"]) $(id).hidden = $(id).disabled = true;
}

async function draw() {
  const item = now.item;
  $("screen").classList.add("loading");
  let media;
  try {
    media = await load(item, now.context);
  } catch (error) {
    complain(new Error(`${error.message} (This segment cannot be shown; answer “unsure” to continue.)`));
    $("screen").classList.remove("loading");
    return;
  }
  if (now.item !== item) return;
  Object.assign(now, { span: media.span, pace: media.pace ?? 1 });
  const isFilm = item.kind === "video";
  $("screen").classList.toggle("film", isFilm);
  $("picture").hidden = isFilm;
  $("film").hidden = $("frames").hidden = !isFilm;
  for (const id of ["before", "after", "marks", "looped", "head"]) $(isFilm ? "frames" : "screen").append($(id)); // over what shows time
  if (isFilm) stills($("stills"), media.film, media.span);
  if (!isFilm) $("picture").src = media.picture;
  else if ($("film").src !== media.film) $("film").src = media.film;
  const what = item.kind === "sound" ? "Spectrogram" : `Traces of ${item.channels.length} of ${item.n_channels} channels:`;
  $("picture").alt = `${what} ${(media.span[1] - media.span[0]).toFixed(2)} s`;
  $("film").setAttribute("aria-label", `Video, ${(media.span[1] - media.span[0]).toFixed(2)} s`);
  if (media.sound) $("sound").src = media.sound;
  else $("sound").removeAttribute("src");
  wave(media.wave);
  axes();
  edges();
  $("screen").classList.remove("loading");
  $("start").hidden = now.started || item.kind === "traces";
  if (now.started || item.kind === "traces") play();
}

function progress({ progress: at }) {
  const pace = at.seconds_per_query === null ? "" : `, ${at.seconds_per_query.toFixed(1)} s each`;
  const about = (minutes) => (minutes < 1 ? "under a minute" : `about ${Math.round(minutes)} min`);
  const range = at.left < at.most_left ? `${at.left} to ${at.most_left} left` : `about ${at.left} left`;
  const ahead = at.is_expected ? `${range}, ${about((at.minutes_left * (at.left + at.most_left)) / (2 * at.left))}`
    : at.follows_answers ? `${at.left} or more left` : `${at.left} left, ${about(at.minutes_left)}`;
  $("progress").textContent = `${at.answered} answered${pace}; ${at.left ? ahead : "none left"}`;
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

/** What is told with an answer besides itself. */
function told() {
  const heard = { reviewed_seconds: Number(now.reviewed.toFixed(3)), reached: Number(Math.min(now.reached, now.item.offset - now.item.onset).toFixed(3)) };
  return { id: newId(), seconds: spent(), ...heard, plays: now.plays, speed: now.speed, context: now.usedContext, picture: now.usedPicture, replaces: now.again !== null };
}

const answer = (present) => {
  const word = WORDS[present];
  if (now.item?.classes) return tell("tick", { present: all(present) }, present === 0 ? "none" : word);
  return tell("tell", { query: now.item?.query, present }, word);
};

function done() {
  if (me.marking) {
    if (marks().length) tell("tell", { query: now.item.query, present: 1, marks: marks() }, "done");
    else toast("Mark where it is, or say that there is nothing.");
    return;
  }
  const present = ticked();
  if (present === null) toast("Tick what is there; 0 says none.");
  else tell("tick", { present }, "done");
}

const tell = (path, body, word) => once(async () => {
  if (!now.item || performance.now() - now.shown < 80) return;
  silence();
  document.querySelectorAll(".verdict .chosen").forEach((node) => node.classList.remove("chosen"));
  $(word).classList.add("chosen");
  let said;
  try {
    said = await send(path, { ...body, ...told() });
  } catch (error) {
    await show(await patiently("ask"), `${word}, not saved. `);
    throw error; // which says why
  }
  if (!said.kept) toast("You had answered this one already, perhaps in another tab.");
  if (now.pass.length) await reanswer(now.pass[0], now.pass.slice(1));
  else await show(said.items ? said : await patiently("ask"), `${word}, ${said.kept ? "saved" : "not saved: answered before"}. `);
  if (said.problem) complain(new Error(said.problem));
  if ($("measured").open || (said.has_targets && said.progress.answered % 5 === 0)) measured().catch(complain);
  if ($("last").open) last().catch(complain);
});

const undo = () => once(async () => {
  silence();
  const said = await send("undo", { id: newId() });
  toast(said.undone ? "Taken back: answer it again." : "There is nothing to take back.");
  now.item = null;
  await show(said, said.undone ? "Taken back. " : "");
});

const later = () => once(async () => {
  silence();
  const { query } = now.item;
  const said = await send("later", { query, id: newId() });
  if (said.items[0]?.query === query) toast("Nothing else is left: this one comes now.");
  await show(said, "Later. ");
});

const context = () => once(async () => {
  now.context = !now.context;
  now.usedContext = now.usedContext || now.context;
  $("context").setAttribute("aria-pressed", String(now.context));
  loop(null);
  await draw();
});

function look() {
  now.picture = !now.picture;
  now.usedPicture = now.usedPicture || now.picture;
  $("look").setAttribute("aria-pressed", String(now.picture));
  $("view").classList.toggle("unseen-picture", !now.picture);
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

const speed = () => once(async () => {
  const before = now.speed;
  now.speed = SPEEDS[(SPEEDS.indexOf(now.speed) + 1) % SPEEDS.length];
  $("speed").firstChild.textContent = `Speed ${now.speed}× `;
  if (now.item.kind === "sound" && Math.min(before, now.speed) < 1) await draw(); // slow sound is another file
  else player().playbackRate = now.speed;
  axes();
});

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
  if (!$("keys").hidden) $("keys").scrollIntoView({ block: "nearest" });
}

// Answers of before. -------------------------------------------------------------------------------------------------

/** What was answered, in words. */
function words({ classes, present }) {
  if (!classes) return WORDS[present];
  const heard = classes.filter((each) => each.present !== 0).map((each) => `${each.label}${each.present === null ? " (unsure)" : ""}`);
  return heard.join(", ") || "none";
}

/** The last answers, each to be corrected by a click, and how many wait for a second pass. */
async function last() {
  const { answers, again } = await json("mine");
  $("answers").replaceChildren(...answers.map((each) => el("li", {}, el("button", {
    type: "button", onclick: () => once(() => reanswer(each.query, [])),
    text: `${each.is_bookmarked ? "★ " : ""}${words(each)}: ${each.recording || "segment"}, ${Number(each.onset.toFixed(2))} to ${Number(each.offset.toFixed(2))} s${each.classes ? "" : `, ${each.label}`}`,
  }))));
  $("second").hidden = $("second-end").hidden = !again.length;
  for (const id of ["second", "second-end"]) $(id).textContent = `Second pass over ${again.length} unsure or bookmarked`;
  return again;
}

/** Put a segment that was answered on the screen again; its answer counts until there is another one. */
async function reanswer(query, pass) {
  silence();
  const item = await json(`item/${query}`);
  Object.assign(now, { again: { query, present: item.present, said: words(item) }, pass });
  ended(false);
  $("finished").hidden = $("owner").hidden = true;
  $("labeling").hidden = $("help").hidden = false;
  await put(item, `Again: you said ${words(item)}.`);
}

const second = () => once(async () => {
  const again = await last();
  if (again.length) await reanswer(again[0], again.slice(1));
});

const keepAsItWas = () => once(async () => {
  silence();
  if (now.pass.length) await reanswer(now.pass[0], now.pass.slice(1));
  else await show(await patiently("ask"));
});

// What is measured, and the end. -------------------------------------------------------------------------------------

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

/** What was found takes the place of the question, or gives it back. */
function ended(isShown) {
  if (!isShown) leave();
  $("ending").setAttribute("aria-expanded", String(isShown));
  $("ending").textContent = isShown ? "Back" : "What was found";
  if (now.item) $("labeling").hidden = isShown;
}

const ending = () => once(async () => {
  const isShown = $("end").hidden;
  silence();
  if (isShown) await strips();
  ended(isShown);
  $(isShown ? "end-title" : "question").focus();
});

async function finish(said) {
  now.item = null;
  silence();
  $("thanks").focus();
  if (!me.measuring) {
    await last().catch(complain);
    await strips().catch((error) => error.status === 403 || complain(error)); // while others still answer
    if (now.item) return ended(false); // taken back meanwhile
  }
  const { card, no_card: refused } = await json("live").catch(() => ({ card: null }));
  if (now.item) return null;
  const words = card ? card.summary : refused;
  $("card").hidden = !words;
  if (words) $("card").textContent = words[0].toUpperCase() + words.slice(1) + ".";
  $("thanks").textContent = !said.measuring ? "Everything is answered. Thank you." : card ? "Measured. Thank you." : "Thank you.";
  document.title = "done · weakly label";
  if (!me.is_owner) return null;
  await owner();
  return said.measuring && card ? write() : null;
}

// Buttons and keys. --------------------------------------------------------------------------------------------------

const buttons = {
  done, none: () => answer(0), present: () => me.marking || answer(1), absent: () => answer(0), unsure: () => answer(null), later,
  toggle, replay, undo, back: undo, speed, context, look, sample, start: replay,
  earlier: () => seek(-0.5), further: () => seek(0.5), loop: () => loop(now.loop ? null : now.span),
  bookmark: () => noting(true), forget: () => noting(false), help, keep: keepAsItWas, second, "second-end": second,
  rested, ending,
};
for (const [id, work] of Object.entries(buttons)) $(id)?.addEventListener("click", work);
$("measured").addEventListener("toggle", () => $("measured").open && measured().catch(complain));
$("last").addEventListener("toggle", () => $("last").open && last().catch(complain));
addEventListener("resize", () => now.item && axes());

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input:not([type=range]), textarea, select");
  if (event.key === "Escape") {
    if (!$("noting").hidden) return noting(false);
    if (now.loop) return loop(null);
    if (now.band) return band(null);
    if (now.again) return keepAsItWas();
  }
  if (typing || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  const isButton = event.target.matches?.("button:not(#start, #marked button), summary, a");
  if ((event.key === " " || event.key === "Enter") && isButton) return;
  if (event.key.startsWith("Arrow") && event.target.matches?.("input")) return;
  if (pressed(event)) return event.preventDefault();
  const action = actionOf(event.key);
  if (action === "measured") {
    if (!$("labeling").hidden) $("measured").open = !$("measured").open;
    return;
  }
  if (!action || document.body.classList.contains("reading")) return;
  if (now.item === null && !["undo", "help"].includes(action)) return;
  if (now.item !== null && $("labeling").hidden) return;
  if (action === "keep" && !now.again) return;
  event.preventDefault();
  if (me.marking && action === "present") return held();
  if (!$(action)?.disabled && !$(action)?.hidden) buttons[action]();
});
document.addEventListener("keyup", (event) => me.marking && actionOf(event.key) === "present" && letGo());

// The beginning. -----------------------------------------------------------------------------------------------------

try {
  Object.assign(me, await patiently("me"));
  if (me.measuring) $("export").textContent = "Write the card";
  $("who").textContent = [me.label, me.annotator].filter(Boolean).join(" · ");
  if (me.annotator === null) {
    $("help").hidden = true;
    $("ending").hidden = Boolean(me.measuring);
    await owner();
    setInterval(() => owner().then(() => { $("problem").hidden = true; }, complain), 5000);
  } else {
    prepare(() => once(draw));
    pointers(me.marking ? marking : null);
    $("last").hidden = Boolean(me.measuring);
    const refused = await deliverUnsent();
    const first = async () => {
      await show(await patiently("ask"));
      if (refused.length) complain(new Error(refused.map((error) => error.message).join(" ")));
    };
    if (guide()) reading(() => once(first));
    else await first();
  }
} catch (error) {
  complain(error);
}
