// What the campaign comes to: every recording as a strip with the events that were found, to be heard and corrected.
import { el, percent, svg, toast } from "./dom.js";
import { silence } from "./ear.js";
import { stills } from "./film.js";
import { $, complain, newId } from "./state.js";
import { paper, sideAxis, tall, timeAxis } from "./view.js";
import { call, json, send } from "./wire.js";

const LENS = 60; // seconds that a strip of a longer recording is looked at more closely
const AROUND = 0.25; // seconds that are played before and after an event
const HEARD = 5; // seconds that are played from a click on
const DRAG = 5; // pixels
const MANY = 24; // events that are listed at once
const COLOURS = ["#e69f00", "#56b4e9", "#cc79a7", "#009e73", "#f0e442", "#d55e00"];

let labels = [];
let shown = 0; // strips on the page
export const sound = new Audio(); // of what plays here
let stop = null; // ends what plays, and puts its head away

const two = (at) => Number(at.toFixed(2));
const colour = (label) => COLOURS[labels.indexOf(label) % COLOURS.length];
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** One look at a recording, all of it or a lens of it: its picture, events, chances, and what a hand does there. */
function look(row, [low, high], { chosen, played, opened = null }) {
  const share = (at) => (100 * (at - low)) / (high - low);
  const over = svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", class: "over", "aria-hidden": "true" });
  for (const { label, onset, offset } of row.events.filter((each) => each.onset < high && each.offset > low)) {
    over.append(svg("rect", { x: share(Math.max(low, onset)), width: share(Math.min(high, offset)) - share(Math.max(low, onset)), y: 0, height: 100, fill: colour(label), "fill-opacity": 0.22, stroke: colour(label), "vector-effect": "non-scaling-stroke" }));
  }
  for (const [label, chances] of Object.entries(row.active)) {
    const at = (k) => share((k * row.length) / chances.length);
    const d = chances.map((chance, k) => (chance === null ? "" : `M${at(k)} 100V${100 - 30 * chance}H${at(k + 1)}V100`)).join("");
    over.append(svg("path", { d, fill: colour(label), "fill-opacity": 0.85 }));
  }
  const picture = row.kind === "video" ? el("canvas", { class: "stills", "aria-hidden": "true" })
    : el("img", { alt: `${row.kind === "sound" ? "Spectrogram" : "Traces"} of ${row.recording}, ${two(low)} to ${two(high)} s`, draggable: "false" });
  const part = el("div", { class: "part", hidden: true });
  const head = el("div", { class: "head", hidden: true });
  const lines = svg("svg", { class: "paper", "aria-hidden": "true" });
  const screen = el("div", { class: "screen" }, picture, lines, over, part, head);
  screen.style.height = tall(row);
  const [side, seconds] = [el("div", { class: "axis kilohertz", "aria-hidden": "true" }), el("div", { class: "axis seconds", "aria-hidden": "true" })];
  const node = el("div", { class: `view${row.channels.length ? " named" : ""}` }, side, screen, seconds);
  const place = (box, [from, to]) => {
    box.hidden = to <= low || from >= high;
    box.style.left = `${share(Math.max(low, from))}%`;
    box.style.width = `${share(Math.min(high, to)) - share(Math.max(low, from))}%`;
  };
  const draw = async () => {
    timeAxis(seconds, [low, high]);
    sideAxis(side, row, row.top);
    paper(lines, row, [low, high]);
    if (row.kind === "video") await stills(picture, `api/1/${row.video}`, [low, high]);
    else picture.src = URL.createObjectURL(await (await call(`picture/${row.at}${low}:${high}`)).blob());
  };
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((each) => each.isIntersecting)) return;
    seen.disconnect();
    draw().catch(complain);
  }, { rootMargin: "200px" });
  seen.observe(screen);

  const moment = (event) => {
    const box = screen.getBoundingClientRect();
    return low + (high - low) * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  let from = null;
  screen.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = { at: moment(event), x: event.clientX, far: false };
    screen.setPointerCapture(event.pointerId);
  });
  screen.addEventListener("pointermove", (event) => {
    if (from === null) return;
    from.far ||= Math.abs(event.clientX - from.x) > DRAG;
    if (from.far) place(part, [from.at, moment(event)].sort((a, b) => a - b));
  });
  screen.addEventListener("pointercancel", () => { from = null; });
  screen.addEventListener("pointerup", (event) => {
    if (from === null) return;
    const { at, far } = from;
    from = null;
    if (far) chosen([at, moment(event)].sort((a, b) => a - b));
    else if (opened) opened(at);
    else {
      const here = row.events.find((each) => each.onset <= at && at <= each.offset);
      if (here) chosen([here.onset, here.offset], here.label);
      else played([at, Math.min(row.length, at + HEARD)]);
    }
  });
  return { node, show: (span) => (span ? place(part, span) : (part.hidden = true)), head: (at) => { head.hidden = at === null || at < low || at > high; head.style.left = `${share(at ?? low)}%`; } };
}

/** A recording: its strip, a lens where it is long, its events as buttons, and what can be said of a stretch. */
function strip(told) {
  const row = { ...told, length: told.recording_length, at: told.query.replace(/[^:]*:[^:]*$/, "") }; // at: the name of a stretch but for its ends
  const node = el("li", { class: "strip" });
  let looks = [];
  let span = null;
  const film = row.kind === "video" ? el("video", { class: "reel", playsinline: true, preload: "none", hidden: true }) : null;
  if (film) film.src = `api/1/${row.video}`;

  const played = async ([low, high]) => {
    stop?.();
    silence();
    if (row.kind === "traces") return;
    const player = film ?? sound;
    let origin = 0;
    if (film) film.hidden = false;
    else {
      origin = low;
      sound.src = URL.createObjectURL(await (await call(`sound/${row.at}${low}:${Math.min(high, low + LENS)}`)).blob());
    }
    let goes = true;
    stop = () => {
      goes = false;
      player.pause();
      looks.forEach((each) => each.head(null));
      if (!film) URL.revokeObjectURL(sound.src);
      stop = null;
    };
    player.currentTime = low - origin;
    await player.play();
    const follow = () => {
      if (!goes) return;
      const at = origin + player.currentTime;
      if (player.ended || at >= high) stop();
      else {
        looks.forEach((each) => each.head(at));
        requestAnimationFrame(follow);
      }
    };
    follow();
  };
  const hear = (of) => played([Math.max(0, of[0] - AROUND), Math.min(row.length, of[1] + AROUND)]).catch(complain);

  const which = el("select", { "aria-label": "Class" }, ...labels.map((label) => el("option", { value: label, text: label })));
  which.hidden = labels.length < 2;
  const ends = ["from", "to"].map((word) => el("input", { type: "number", min: 0, max: row.length, step: "any", "aria-label": `${word} second` }));
  const say = (text, present) => el("button", { type: "button", onclick: () => said(present).catch(complain) }, text);
  const bar = el("div", { class: "fix", role: "group", "aria-label": `Correct ${row.recording}`, hidden: true },
    el("span", { class: "limits" }, ends[0], " to ", ends[1], " s"),
    row.kind === "traces" ? "" : el("button", { type: "button", text: row.kind === "sound" ? "▶ Hear" : "▶ See", onclick: () => hear(span) }), which,
    say("There is an event", 1), say("There is none", 0), say("As answered", null));
  ends.forEach((field, k) => field.addEventListener("change", () => {
    const next = ends.map((each) => Number(each.value));
    if (next[0] >= 0 && next[0] < next[1] && next[1] <= row.length) choose(next);
    else ends[k].value = two(span[k]);
  }));

  function choose(of, label = null) {
    span = of;
    ends.forEach((field, k) => { field.value = two(of[k]); });
    if (label) which.value = label;
    bar.hidden = !row.is_answered;
    lensAt(of);
    looks.forEach((each) => each.show(of));
  }
  const chosen = (of, label = null) => {
    choose(of, label);
    hear(of);
  };

  async function said(present) {
    stop?.();
    const query = `${row.at}${span[0]}:${span[1]}`;
    await send("correct", { query, label: which.value, present, id: newId() });
    toast(present === null ? "As it was answered." : "Corrected.");
    const rows = (await json(`end?first=${row.first}`)).rows;
    const anew = strip({ ...rows.find((each) => each.query === row.query), first: row.first });
    node.replaceWith(anew);
    anew.querySelector(".events button, summary")?.focus();
  }

  const lens = el("div", { class: "lens" });
  function lensAt([from, to]) {
    if (row.length <= LENS) return;
    const low = Math.max(0, Math.min(row.length - LENS, (from + to - LENS) / 2));
    const near = look(row, [low, Math.min(row.length, low + LENS)], { chosen, played: (of) => played(of).catch(complain) });
    looks = [looks[0], near];
    lens.replaceChildren(near.node);
  }

  const total = row.events.reduce((sum, each) => sum + each.offset - each.onset, 0);
  const facts = [row.is_answered ? `${counted(row.events.length, "event")}, ${two(total)} s of ${two(row.length)} s` : "nothing was answered here"];
  if (row.doubt > 0.005) facts.push(`${two(row.doubt)} s in doubt`);
  /** How likely an event is where it is likeliest; null where nothing tells. */
  const sure = ({ label, onset, offset }) => {
    const chances = row.active[label] ?? [];
    const [from, to] = [onset, offset].map((at) => (at / row.length) * chances.length);
    const here = chances.slice(Math.floor(from), Math.max(Math.ceil(to), Math.floor(from) + 1)).filter((each) => each !== null);
    return here.length ? Math.max(...here) : null;
  };
  const button = ({ label, onset, offset }, chance = sure({ label, onset, offset })) => el("button", { type: "button", onclick: () => chosen([onset, offset], label) },
    el("i", { style: `background: ${colour(label)}` }), `${two(onset)} to ${two(offset)} s${labels.length > 1 ? ` ${label}` : ""}${chance === null ? "" : ` · ${percent(chance)}`}`);
  const rest = row.events.slice(MANY);
  const more = rest.length ? el("button", { type: "button", text: `All ${row.events.length}`, onclick: () => more.replaceWith(...rest.map((each) => button(each))) }) : null;
  const standing = row.corrected.filter((each) => each.present !== null);
  looks = [look(row, [0, row.length], { chosen, played: (of) => played(of).catch(complain), opened: row.length > LENS ? (at) => lensAt([at, at]) : null })];
  node.append(el("h3", {}, row.recording, el("span", { class: "soft", text: ` ${facts.join("; ")}` })), looks[0].node, film ?? "", lens, bar,
    el("div", { class: "events" }, ...row.events.slice(0, MANY).map((each) => button(each)), more ?? ""));
  if (standing.length) {
    node.append(el("details", {}, el("summary", { text: counted(standing.length, "correction") }), el("ul", {}, ...standing.map((each) => el("li", { text: `${each.annotator}: ${each.present ? "an event" : "none"} ${labels.length > 1 ? `of ${each.label} ` : ""}from ${two(each.onset)} to ${two(each.offset)} s` })))));
  }
  return node;
}

async function more() {
  const said = await json(`end?first=${shown}`);
  labels = said.labels;
  $("strips").append(...said.rows.map((row) => strip({ ...row, first: shown })));
  shown += said.rows.length;
  $("more-strips").hidden = shown >= said.total;
  $("more-strips").textContent = `More of ${said.total} recordings`;
  const kinds = new Set(said.rows.map((row) => row.kind));
  const plays = kinds.has("sound") || kinds.has("video") ? "Click to play from there; drag" : "Drag";
  $("end-help").textContent = `${plays}, or click on an event, to select a stretch. What you say about it goes into the export.${said.rows.some((row) => Object.keys(row.active).length) ? " The curve at the lower edge shows how likely an event is at each moment; the percentages are the highest values within an event. The most uncertain recordings come first." : ""}`;
  $("legend").replaceChildren(...(labels.length > 1 ? labels.map((label) => el("span", {}, el("i", { style: `background: ${colour(label)}` }), label)) : []));
}

/** Show the strips, from the first one on. */
export async function strips() {
  stop?.();
  shown = 0;
  $("strips").replaceChildren();
  await more();
  $("end").hidden = false;
}

export function leave() {
  stop?.();
  $("end").hidden = true;
}

$("more-strips").addEventListener("click", () => more().catch(complain));
