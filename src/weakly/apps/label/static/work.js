// Time at work: while the page is seen and somebody does something, or something plays.
import { playing } from "./ear.js";
import { $, settings } from "./state.js";

const IDLE = 30; // seconds without a sign of life that still count as work
const REST = 300; // seconds without a sign of life that are a pause

const clock = { active: 0, last: 0, sign: 0, since: 0 };
const seconds = () => performance.now() / 1000;

export function tick() {
  const at = seconds();
  const busy = playing() || at - clock.sign < IDLE;
  if (document.visibilityState === "visible" && busy && clock.last) {
    clock.active += at - clock.last;
    clock.since += at - clock.last;
  }
  clock.last = at;
  if (settings.pause > 0 && clock.since >= 60 * settings.pause) {
    $("worked").textContent = `${settings.pause} minutes of work since the last pause. Five minutes away from the screen keep ear and eye good; everything waits for you.`;
    $("rest").hidden = false;
  }
}

function sign() {
  if (seconds() - clock.sign > REST && clock.sign) rested();
  tick();
  clock.sign = seconds();
}

export function rested() {
  clock.since = 0;
  $("rest").hidden = true;
}

/** A segment is there: its seconds begin. */
export const begin = () => Object.assign(clock, { active: 0, last: seconds(), sign: seconds() });
/** Seconds of work since the segment was there. */
export function spent() {
  tick();
  return Number(clock.active.toFixed(3));
}

setInterval(tick, 250);
document.addEventListener("visibilitychange", tick);
for (const kind of ["keydown", "pointerdown", "pointermove"]) document.addEventListener(kind, sign, { passive: true, capture: true });
