// Keys and settings: what each key does, which of them are somebody's own, and how sound and picture are set.
import { el } from "./dom.js";
import { tune } from "./ear.js";
import { $, keep, me, now, settings } from "./state.js";
import { band } from "./view.js";

/** What can be done by key: the words for it and its usual keys. */
export const ACTIONS = {
  present: ["present", ["p", "1"]],
  absent: ["absent", ["a", "0"]],
  unsure: ["unsure: asked about, not known", ["u"]],
  done: ["what is ticked is what there is", ["Enter"]],
  none: ["none of the classes", ["0"]],
  later: ["later: ask again when the others are answered", ["l"]],
  toggle: ["stop, or go on; from the start when it has ended", [" "]],
  replay: ["play it again from its start", ["r"]],
  earlier: ["half a second back", [","]],
  further: ["half a second on", ["."]],
  loop: ["again and again, all of it or the part that you drag over", ["o"]],
  undo: ["take back the last answer", ["z", "Backspace"]],
  speed: ["speed: 1, 1.5, 2; slower and deeper 0.1, 0.25, 0.5", ["s"]],
  context: ["what is around the segment (that you looked is kept with the answer)", ["c"]],
  look: ["the picture, while your hearing is measured", ["v"]],
  bookmark: ["bookmark with a note", ["b"]],
  keep: ["leave an earlier answer as it was", ["k"]],
  measured: ["what is measured so far", ["m"]],
  help: ["keys and settings", ["?"]],
};

/** What cannot be done where all classes are asked at once, where events are marked, and else. */
const absentees = () => [...(me.together ? ["present", "absent"] : me.marking ? ["none"] : ["done", "none"]), ...(me.measuring ? [] : ["look"])];

/** Keys for hands that lie elsewhere; they come before the usual ones. */
const SETS = {
  "P A U": {},
  "two hands: F and J": { absent: "f", present: "j", unsure: "g", later: "h" },
  "right hand: arrows": { present: "ArrowRight", absent: "ArrowLeft", unsure: "ArrowDown", toggle: "ArrowUp", later: "PageDown", undo: "PageUp" },
  "left hand: F D S": { present: "f", absent: "d", unsure: "s", later: "x", speed: "e" },
};

const NAMES = { " ": "Space", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", PageDown: "Page ↓", PageUp: "Page ↑" };
const named = (key) => NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key);
const plain = (key) => (key.length === 1 ? key.toLowerCase() : key);

/** The keys of an action, somebody's own first; those that mean something else by now are left out. */
export function keysOf(action) {
  const own = settings.keys[action];
  const taken = new Set(Object.entries(settings.keys).filter(([name]) => name !== action).map(([, key]) => key));
  return [...(own ? [own] : []), ...ACTIONS[action][1].filter((key) => !taken.has(key) && key !== own)];
}

/** What a key does; undefined: nothing. */
export function actionOf(key) {
  const pressed = plain(key);
  const fits = (action) => !absentees().includes(action);
  const own = Object.entries(settings.keys).find(([action, each]) => each === pressed && fits(action))?.[0];
  return own ?? Object.keys(ACTIONS).find((action) => ACTIONS[action][1].includes(pressed) && fits(action));
}

/** The keys stand on the buttons, in the list and for screen readers. */
function show() {
  for (const action of Object.keys(ACTIONS)) {
    const keys = keysOf(action);
    const button = $(action);
    const shown = button?.querySelector("kbd");
    if (shown) shown.textContent = named(keys[0] ?? "–");
    if (button?.matches(".verdict button, .others button")) button.setAttribute("aria-keyshortcuts", keys.map((key) => (key === " " ? "Space" : key)).join(" "));
  }
  $("begin-key").textContent = named(keysOf("toggle")[0]);
  const usable = Object.entries(ACTIONS).filter(([action]) => !absentees().includes(action));
  $("list").replaceChildren(...usable.flatMap(([action, [words]]) => {
    const keys = keysOf(action).flatMap((key, k) => [k ? " or " : "", el("kbd", { text: named(key) })]);
    const change = el("input", {
      type: "text", class: "own", readonly: true, placeholder: "own", value: settings.keys[action] ? named(settings.keys[action]) : "",
      "aria-label": `Own key for: ${words}`, title: "Press the key; Delete removes it", onkeydown: (event) => choose(action, event),
    });
    return [el("dt", {}, ...keys), el("dd", {}, words), el("dd", {}, change)];
  }));
  const set = Object.entries(SETS).find(([, keys]) => JSON.stringify(keys) === JSON.stringify(settings.keys))?.[0];
  $("set").value = set ?? "your own";
}

function choose(action, event) {
  if (["Tab", "Shift", "Control", "Alt", "Meta", "Escape"].includes(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  const keys = Object.fromEntries(Object.entries(settings.keys).filter(([name, key]) => name !== action && key !== plain(event.key)));
  if (event.key !== "Delete") keys[action] = plain(event.key);
  keep({ keys });
  const index = [...$("list").querySelectorAll("input")].indexOf(event.target);
  show();
  $("list").querySelectorAll("input")[index].focus();
}

/** Prepare the settings; `redraw` is called when the picture has to be made anew. */
export function prepare(redraw) {
  $("set").replaceChildren(...[...Object.keys(SETS), "your own"].map((name) => el("option", { value: name, text: name })));
  $("set").addEventListener("change", () => {
    if (SETS[$("set").value]) keep({ keys: SETS[$("set").value] });
    show();
  });
  for (const id of ["volume", "shift", "contrast", "part", "pause"]) {
    $(id).value = settings[id];
    $(id).addEventListener("change", () => {
      keep({ [id]: Number($(id).value) });
      if (id === "volume") tune();
      else if (id !== "pause" && now.item) redraw();
    });
  }
  const limits = () => {
    const [from, to] = [$("from"), $("to")].map((field) => Number(field.value));
    band(from > 0 || to > 0 ? [from, to > from ? to : now.item?.top ?? from + 1] : null);
  };
  ["from", "to"].forEach((id) => $(id).addEventListener("change", limits));
  $("whole").addEventListener("click", () => band(null));
  for (const id of ["present", "absent", "done", "none"]) $(id).hidden = absentees().includes(id);
  show();
}
