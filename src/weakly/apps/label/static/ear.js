// What is heard: the segment from any place on, a part of it again and again, louder, slower, or only some frequencies.
import { $, complain, now, settings } from "./state.js";

export const SPEEDS = [1, 1.5, 2, 0.1, 0.25, 0.5];
const LOUD = 0.5; // the peak of every recording as it is played: no jump from one to the next
const MOST_GAIN = 30;

const isFilm = () => now.item?.kind === "video";
/** What plays: the sound of the segment, or the film of the whole recording, of which the segment is shown. */
export const player = () => (isFilm() ? $("film") : $("sound"));
export const playing = () => !player().paused && !player().ended;

/** Seconds of the recording in one second of what plays; slow sound is a file that lasts longer. */
const pace = () => (isFilm() ? 1 : now.pace ?? 1);
const origin = () => (isFilm() ? 0 : now.span[0]);
/** Where the recording is being played, in its seconds. */
export const position = () => origin() + player().currentTime * pace();

/** What really played since the last look: how many seconds, and how far into the segment. */
function review() {
  const at = position();
  if (now.playedTo === null || now.item === null) return;
  now.reviewed += Math.max(0, at - now.playedTo);
  now.reached = Math.max(now.reached, at - now.item.onset);
  now.playedTo = at;
}

export function silence() {
  review();
  now.playedTo = null;
  ["sound", "film"].forEach((id) => $(id).pause());
}

/** Play from this second of the recording on. */
export async function play(from = now.loop?.[0] ?? now.span[0]) {
  if (now.item.kind === "traces") { // all of it is seen at once
    now.plays += 1;
    Object.assign(now, { reviewed: now.span[1] - now.span[0], reached: now.item.offset - now.item.onset });
    return;
  }
  review();
  now.playedTo = null;
  if (from <= now.span[0] + 1e-6) now.plays += 1;
  player().currentTime = Math.max(0, (from - origin()) / pace());
  player().playbackRate = isFilm() ? now.speed : Math.max(1, now.speed);
  tune();
  try {
    await player().play();
    now.playedTo = position();
    now.started = true;
    $("start").hidden = true;
    tune();
    requestAnimationFrame(follow);
  } catch (error) {
    if (error.name === "NotAllowedError") $("start").hidden = false; // the browser waits for a first touch
    else if (error.name !== "AbortError") complain(new Error(`This segment cannot be played: ${error.message}`));
  }
}

/** Stop; or go on where it was stopped, from the start if that was the end. */
export function toggle() {
  now.started = true;
  if (playing()) {
    silence();
    return;
  }
  const [low, high] = now.loop ?? now.span;
  const at = position();
  play(at > low + 0.02 && at < high - 0.05 ? at : low);
}

export function seek(seconds) {
  play(Math.min(Math.max(position() + seconds, now.span[0]), now.span[1] - 0.05));
}

/** Hear a part again and again, or (null) everything once. */
export function loop(part) {
  now.loop = part;
  $("loop").setAttribute("aria-pressed", String(part !== null));
  mark($("looped"), part, now.span);
  if (part) play(part[0]);
}

/** A stretch of time over the picture. */
export function mark(node, part, [low, high]) {
  node.hidden = part === null;
  if (part === null) return;
  node.style.left = `${(100 * (part[0] - low)) / (high - low)}%`;
  node.style.width = `${(100 * (part[1] - part[0])) / (high - low)}%`;
}

export function follow() {
  review();
  const [low, high] = now.span;
  const end = now.loop?.[1] ?? (isFilm() ? high - 0.02 : Infinity);
  const at = position();
  if (now.loop && (player().ended || (playing() && at >= end))) {
    play(now.loop[0]);
    return;
  }
  if (isFilm() && playing() && at >= end) {
    player().pause(); // the film goes on, the segment does not
    if (at > high) player().currentTime = high; // a busy machine stops late: what stands still is the segment's end
  }
  $("head").hidden = !playing() && (at <= low || at >= high - 0.02);
  $("head").style.left = `${(100 * (at - low)) / (high - low)}%`;
  if (playing()) requestAnimationFrame(follow);
}
setInterval(() => playing() && document.hidden && follow(), 100); // a hidden page draws no frames

// Level and frequencies, once the browser lets a page make sound. -----------------------------------------------------

let graph = null;

function build() {
  const context = new AudioContext();
  const filter = (type) => new BiquadFilterNode(context, { type, Q: Math.SQRT1_2 });
  const parts = { high: [filter("highpass"), filter("highpass")], low: [filter("lowpass"), filter("lowpass")], gain: new GainNode(context) };
  const chain = [context.createMediaElementSource($("sound")), ...parts.high, ...parts.low, parts.gain, context.destination];
  chain.reduce((from, to) => from.connect(to));
  return { context, ...parts };
}

/** Set the level of the recording, the volume and the band. */
export function tune() {
  $("film").volume = Math.min(1, settings.volume);
  if (graph === null && navigator.userActivation?.hasBeenActive && window.AudioContext) graph = build();
  if (graph === null) {
    $("sound").volume = Math.min(1, settings.volume);
    return;
  }
  $("sound").volume = 1;
  if (graph.context.state === "suspended") graph.context.resume();
  const most = graph.context.sampleRate / 2;
  const [low, high] = (now.band ?? [0, Infinity]).map((kilohertz) => Math.min(most, 1000 * kilohertz * pace()));
  graph.high.forEach((each) => { each.frequency.value = low; });
  graph.low.forEach((each) => { each.frequency.value = high; });
  graph.gain.gain.value = level() * settings.volume;
}

/** How much louder the sound of this recording is played than it was recorded. */
export const level = () => (now.item?.peak ? Math.min(MOST_GAIN, LOUD / now.item.peak) : 1);

/** What is heard, for tests and for people who want to know. */
export const heard = () => ({ gain: graph?.gain.gain.value ?? null, low: graph?.high[0].frequency.value ?? null, high: graph?.low[0].frequency.value ?? null });
