// Marking by hand: hold a key while the sound is there, or drag over it; correct the edges; next.
import { el } from "./dom.js";
import { play, playing, position } from "./ear.js";
import { $, me, now } from "./state.js";

const NEAR = 8; // pixels from an edge at which a drag moves it
const SHORTEST = 0.01; // seconds of a mark
const STEP = 0.02; // seconds by which a key moves an edge

let open = null; // where the mark begins whose key is down
let chosen = null; // the mark that is being corrected
let moving = null; // the mark and the edge that a drag moves

const within = (at) => Math.min(now.item.offset, Math.max(now.item.onset, at));
const rounded = (at) => Number(at.toFixed(3));

/** The marks in seconds of the recording, in order. */
export const marks = () => now.marks.map((each) => each.map(rounded)).sort((a, b) => a[0] - b[0]);

/** The marks of a segment that has just come: none, or those of an earlier answer. */
export function take(item) {
  now.marks = (item.marks ?? []).map((each) => [...each]);
  open = chosen = moving = null;
  $("marking").hidden = !me.marking;
  if (!me.marking) return;
  $("present").firstChild.textContent = "Hold while it is there ";
  $("absent").firstChild.textContent = "Nothing here ";
  show();
}

function show() {
  const [low, high] = now.span;
  const begun = open === null ? [] : [[open, Math.max(open, within(position()))]];
  $("marks").replaceChildren(...[...now.marks, ...begun].map((each) => {
    const box = el("div", { class: each === chosen ? "mark chosen" : "mark" });
    box.style.left = `${(100 * (each[0] - low)) / (high - low)}%`;
    box.style.width = `${(100 * (each[1] - each[0])) / (high - low)}%`;
    return box;
  }));
  const from = (at) => (at - now.item.onset).toFixed(2);
  $("marked").replaceChildren(...now.marks.map((each) => el("li", {}, el("button", {
    type: "button", class: each === chosen ? "chosen" : null, text: `${from(each[0])} to ${from(each[1])} s`,
    onclick: () => { choose(each); play(each[0]); }, onkeydown: (event) => correct(each, event),
  }))));
}

function choose(each) {
  chosen = each;
  show();
  if (each) $("marked").children[now.marks.indexOf(each)]?.firstChild.focus();
}

/** Keys on a mark of the list. */
function correct(each, event) {
  const way = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
  if (event.key === "Delete" || event.key === "Backspace") now.marks = now.marks.filter((other) => other !== each);
  else if (way) shift(each, event.shiftKey ? 1 : 0, each[event.shiftKey ? 1 : 0] + way);
  else return;
  event.preventDefault();
  event.stopPropagation();
  choose(now.marks.includes(each) ? each : null);
  if (!chosen) $("question").focus();
}

/** Move one edge, never beyond the other. */
function shift(each, edge, at) {
  each[edge] = within(edge ? Math.max(at, each[0] + SHORTEST) : Math.min(at, each[1] - SHORTEST));
}

function add(from, to) {
  const [a, b] = [from, to].map(within).sort((x, y) => x - y);
  if (b - a >= SHORTEST) now.marks = [...now.marks, [a, b]].sort((x, y) => x[0] - y[0]);
  show();
}

/** The key is down: the sound is there. */
export function held() {
  if (open !== null || !playing()) return;
  open = within(position());
  const grow = () => {
    if (open === null) return;
    show();
    if (playing()) requestAnimationFrame(grow);
  };
  grow();
}

export function letGo() {
  if (open === null) return;
  const from = open;
  open = null;
  add(from, position());
}

$("present").addEventListener("pointerdown", () => me.marking && held());
for (const kind of ["pointerup", "pointercancel", "pointerleave"]) $("present").addEventListener(kind, letGo);

/** The edge of a mark that lies at this moment, or nearly. */
function edgeAt(at) {
  const reach = (NEAR * (now.span[1] - now.span[0])) / $("screen").clientWidth;
  for (const each of now.marks) {
    const edge = each.findIndex((end) => Math.abs(end - at) <= reach);
    if (edge >= 0) return { each, edge };
  }
  return null;
}

/** What pointers do on the picture. */
export const marking = {
  dragging([from, to]) {
    moving ??= edgeAt(from) ?? "new";
    if (moving === "new") return false;
    shift(moving.each, moving.edge, to);
    show();
    return true;
  },
  dragged([from, to]) {
    if (moving === "new" || moving === null) add(from, to);
    $("looped").hidden = true;
    moving = null;
    return true;
  },
  pressed(at) {
    chosen = now.marks.find(([a, b]) => a <= at && at <= b) ?? null;
    show();
  },
};
