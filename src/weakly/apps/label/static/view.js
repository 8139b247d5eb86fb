// What is seen: the picture with its axes, the waveform, and what a pointer does on them.
import { el, svg } from "./dom.js";
import { level, loop, mark, play, toggle, tune } from "./ear.js";
import { $, now, settings } from "./state.js";

const DRAG = 6; // pixels from which on a press is a drag

export function ticks(low, high, most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(10)));
}

/** The highest frequency that the picture shows, in kHz. */
const top = () => now.item.top * settings.part;

/** Seconds under a picture. */
export function timeAxis(node, [low, high]) {
  node.replaceChildren(...ticks(low, high, Math.max(2, node.clientWidth / 90)).map((at) => {
    const label = el("span", { text: `${at} s` });
    const share = (at - low) / (high - low);
    label.style.left = `${100 * share}%`;
    if (share < 0.03) label.style.transform = "none"; // the words stay inside, the place stays true
    else if (share > 0.97) label.style.transform = "translateX(-100%)";
    return label;
  }));
}

/** Beside a picture: kilohertz of sound up to `top`, or the names of channels with how much their bands hold. */
export function sideAxis(node, item, top) {
  const names = item.channels.map(({ name, unit: written, low, high }, k, all) => {
    const unit = written.replace(/^u(?=V)/, "µ");
    const band = Number(((high - low) / SHARE).toPrecision(2));
    const label = el("span", { title: `${name}: its band is ${band}${unit && ` ${unit}`} high` }, name, unit && band ? el("small", { text: ` ${band} ${unit}` }) : null);
    label.style.bottom = `${100 * (1 - (k + 0.5) / all.length)}%`;
    return label;
  });
  const steps = item.top === null ? [] : ticks(0, top, 4).filter((at) => at < 0.97 * top);
  node.replaceChildren(...names, ...steps.map((at) => {
    const label = el("span", { text: at === 0 ? "kHz" : String(at) });
    label.style.bottom = `${Math.max(3, (100 * at) / top)}%`;
    return label;
  }));
}

export function axes() {
  timeAxis($("seconds"), now.span.map((at) => at - now.item.onset)); // from the segment's start: where it lies tells nothing
  sideAxis($("kilohertz"), now.item, top());
  $("screen").style.height = tall(now.item);
  paper($("grid"), now.item, now.span);
  ranges();
}

// Signals, on paper as people know it. -------------------------------------------------------------------------------

const SHARE = 0.8; // of a channel's band that its recording fills; see media.traces
const LEAD = /^((ecg|ekg)\b.*|ml?[iv]+|m?v[1-6]r?|av[rlf]|i{1,3})$/i;
const CHANNEL = 28; // pixels of a channel at least

/** The height of a picture: channels keep a height at which they can be read. */
export const tall = (item) => (item.channels.length * CHANNEL > 256 ? `${item.channels.length * CHANNEL}px` : "");

/** Lines under traces: of an electrocardiogram 0.2 s by 0.5 mV, and 0.04 s by 0.1 mV; of all others seconds. */
export function paper(node, { kind, channels }, [low, high]) {
  node.replaceChildren();
  node.toggleAttribute("hidden", kind !== "traces");
  if (kind !== "traces") return;
  const wide = node.parentElement.clientWidth;
  const height = node.parentElement.clientHeight;
  const seconds = high - low;
  node.setAttribute("viewBox", `0 0 ${wide} ${height}`);
  const millivolts = (unit) => ({ mv: 1, uv: 1000, "µv": 1000, v: 0.001 })[unit.toLowerCase()];
  const isHeart = channels.every(({ name, unit }) => LEAD.test(name.trim()) && millivolts(unit));
  const keeps = (n, of) => of === null || n % of !== 0; // every fifth of the fine lines is a clear one
  const upright = (step, of) => {
    if ((step * wide) / seconds < 3) return "";
    const places = Array.from({ length: Math.floor(seconds / step + 1e-9) }, (_, k) => k + 1).filter((n) => keeps(n, of));
    return places.map((n) => `M${((n * step) / seconds) * wide} 0V${height}`).join("");
  };
  const level = (step, of) => channels.map(({ unit, low: least, high: most }, k) => {
    const each = step * (millivolts(unit) ?? 0);
    const band = height / channels.length;
    const scale = (SHARE * band) / Math.max(1e-12, most - least);
    if (!isHeart || each * scale < 3) return "";
    const bottom = Math.ceil((least - (0.1 * band) / scale) / each);
    return Array.from({ length: Math.floor(band / (each * scale)) }, (_, n) => bottom + n)
      .filter((n) => keeps(n, of)).map((n) => `M0 ${(k + 0.9) * band - (n * each - least) * scale}H${wide}`).join("");
  }).join("");
  const [fine, clear] = isHeart && seconds <= 30 ? [[0.04, 5], [0.2, null]] : seconds <= 12 ? [[0.2, 5], [1, null]] : [[1, seconds > 60 ? 1 : 10], [10, null]];
  node.append(svg("path", { class: "fine", d: upright(...fine) + level(0.1, 5) }), svg("path", { class: "clear", d: upright(...clear) + level(0.5, null) }));
  node.classList.toggle("heart", isHeart);
}

const kilohertz = (value) => Number(value.toPrecision(3));

/** Which frequencies are heard, and as which, where that is not what one would think. */
function ranges() {
  const said = [];
  const [low, high] = now.band ?? [0, now.item.top];
  if (now.band) said.push(`only ${kilohertz(low)} to ${kilohertz(high)} kHz are heard`);
  if (now.item.kind === "sound" && now.speed < 1) {
    said.push(`${now.speed}× speed: ${kilohertz(low)} to ${kilohertz(high)} kHz sound as ${kilohertz(low * now.speed)} to ${kilohertz(high * now.speed)} kHz`);
  }
  if (now.item.kind === "sound" && settings.part < 1) said.push(`the picture ends at ${kilohertz(top())} kHz`);
  $("heard").textContent = said.length ? `${said.join("; ")}.` : "";
  const share = (value) => 100 * Math.min(1, Math.max(0, value / top()));
  $("below").hidden = $("above").hidden = !now.band;
  if (!now.band) return;
  $("below").style.height = `${share(low)}%`;
  $("above").style.height = `${100 - share(high)}%`;
}

/** What is around the segment is darker. */
export function edges() {
  const [low, high] = now.span;
  for (const [id, seconds] of [["before", now.item.onset - low], ["after", high - now.item.offset]]) {
    $(id).hidden = !now.context || seconds <= 0;
    $(id).style.width = `${(100 * seconds) / (high - low)}%`;
  }
}

/** The waveform, on the scale of its recording. */
export function wave(peaks) {
  const canvas = $("wave");
  canvas.hidden = !peaks;
  if (!peaks) return;
  canvas.width = peaks.length;
  const paint = canvas.getContext("2d");
  paint.fillStyle = getComputedStyle(canvas).color;
  const half = canvas.height / 2;
  const scale = Math.min(2 * half, half * 2 * level());
  peaks.forEach(([low, high], k) => {
    const [a, b] = [high, low].map((value) => Math.min(half, Math.max(-half, value * scale)));
    paint.fillRect(k, half - a, 1, Math.max(1, a - b));
  });
}

/** Hear only these frequencies (kHz), or (null) all. */
export function band(range) {
  now.band = range;
  [$("from"), $("to")].forEach((field, k) => { field.value = range ? kilohertz(range[k]) : ""; });
  tune();
  if (now.item) ranges();
}

// Pointers. ----------------------------------------------------------------------------------------------------------

const clamp = (value) => Math.min(1, Math.max(0, value));

/** Calls with the two shares of a drag, from and to, while it goes on and at its end; or with that of a click. */
function drags(node, share, { moving, dragged, clicked }) {
  let from = null;
  node.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("button") || !now.item) return;
    from = { at: share(event), x: event.clientX, y: event.clientY, far: false, extra: event.shiftKey };
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (from === null) return;
    from.far ||= Math.hypot(event.clientX - from.x, event.clientY - from.y) > DRAG;
    if (from.far) moving([from.at, share(event)]);
  });
  node.addEventListener("pointerup", (event) => {
    if (from === null) return;
    const { at, far } = from;
    from = null;
    if (far) dragged([at, share(event)]);
    else clicked(at);
  });
  node.addEventListener("pointercancel", () => { from = null; });
}

const across = (event) => {
  const box = $("screen").getBoundingClientRect();
  return clamp((event.clientX - box.left) / box.width);
};
const upwards = (event) => {
  const box = $("screen").getBoundingClientRect();
  return clamp((box.bottom - event.clientY) / box.height);
};
const sorted = (pair) => [...pair].sort((a, b) => a - b);
const moments = (shares) => shares.map((share) => now.span[0] + share * (now.span[1] - now.span[0]));

/** A press on the picture plays from there, a drag loops that part; `marking` may take them first. Of a film, this is
 * done on its stills, and a press on the film stops it. */
export function pointers(marking = null) {
  const isFilm = () => now.item.kind === "video";
  const time = {
    moving: (shares) => marking?.dragging(moments(shares)) || mark($("looped"), sorted(moments(shares)), now.span),
    dragged: (shares) => {
      if (!marking?.dragged(moments(shares)) && now.item.kind !== "traces") loop(sorted(moments(shares)));
    },
    clicked: (share) => {
      const [at] = moments([share]);
      marking?.pressed(at);
      if (now.item.kind === "traces") return;
      if (now.loop && (at < now.loop[0] || at > now.loop[1])) loop(null);
      play(at);
    },
  };
  drags($("screen"), across, { moving: (shares) => isFilm() || time.moving(shares), dragged: (shares) => isFilm() || time.dragged(shares), clicked: (share) => (isFilm() ? toggle() : time.clicked(share)) });
  drags($("frames"), across, time);
  drags($("wave"), across, time);
  drags($("kilohertz"), upwards, {
    moving: (shares) => now.item.kind === "sound" && band(sorted(shares).map((share) => share * top())),
    dragged: (shares) => now.item.kind === "sound" && band(sorted(shares).map((share) => share * top())),
    clicked: () => band(null),
  });
}
