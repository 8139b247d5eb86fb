// All classes of a segment at once: number keys tick, Enter is done, one key says none.
import { el } from "./dom.js";
import { $, now } from "./state.js";

const MANY = 9; // classes that have a number
const STATES = ["false", "true", "mixed"]; // absent, present, unsure: as aria-pressed says it

const buttons = () => [...$("classes").querySelectorAll("button")];
const set = (button, state) => button.setAttribute("aria-pressed", STATES[state]);

/** The classes of the segment, as buttons; those of an earlier answer are ticked. */
export function offer(item) {
  $("ticks").hidden = !item.classes;
  $("verdict").classList.toggle("together", Boolean(item.classes));
  if (!item.classes) return;
  $("search").hidden = item.classes.length <= MANY;
  $("search").value = "";
  $("classes").replaceChildren(...item.classes.map(({ query, label, present }, k) => {
    const button = el("button", { type: "button", "data-query": query, "aria-pressed": "false", onclick: (event) => { tick(button, event.shiftKey); if (event.detail) $("question").focus(); } },
      k < MANY ? el("kbd", { text: String(k + 1) }) : null, ` ${label}`);
    if (now.again) set(button, present === null ? 2 : present);
    return button;
  }));
}

function tick(button, isUnsure) {
  const state = isUnsure ? 2 : 1;
  set(button, button.getAttribute("aria-pressed") === STATES[state] ? 0 : state);
}

/** Only classes whose name holds what is typed. */
function find() {
  const wanted = $("search").value.trim().toLowerCase();
  for (const button of buttons()) button.hidden = !button.textContent.toLowerCase().includes(wanted);
}
$("search").addEventListener("input", find);
$("search").addEventListener("keydown", (event) => {
  if (event.key === "Escape") $("question").focus();
  if (event.key !== "Enter") return;
  event.preventDefault();
  event.stopPropagation();
  const first = buttons().find((button) => !button.hidden);
  if (first && $("search").value.trim()) tick(first, event.shiftKey);
  $("search").value = "";
  find();
  $("question").focus();
});

/** Ticks by key; whether the key was one. */
export function pressed(event) {
  if (!now.item?.classes) return false;
  const digit = /^Digit([1-9])$/.exec(event.code)?.[1] ?? /^[1-9]$/.exec(event.key)?.[0];
  if (digit && buttons()[digit - 1]) {
    tick(buttons()[digit - 1], event.shiftKey);
    return true;
  }
  if (event.key === "/" && !$("search").hidden) {
    $("search").focus();
    return true;
  }
  return false;
}

/** What is ticked, by query; null while nothing is. */
export function ticked() {
  const said = buttons().map((button) => [button.dataset.query, [0, 1, null][STATES.indexOf(button.getAttribute("aria-pressed"))]]);
  return said.every(([, present]) => present === 0) ? null : Object.fromEntries(said);
}

/** The same for all classes. */
export const all = (present) => Object.fromEntries(buttons().map((button) => [button.dataset.query, present]));
