// What all parts of the page share: who is here, what is on the screen, and what this person has set.

export const $ = (id) => document.getElementById(id);

/** Who is here and what the campaign asks for, as the server says. */
export const me = {};

/** The segment on the screen, and what was done with it so far. */
export const now = {
  items: [], item: null, shown: 0, busy: false, started: false, span: [0, 1],
  plays: 0, reviewed: 0, reached: 0, playedTo: null, speed: 1, loop: null, band: null,
  context: false, usedContext: false, picture: false, usedPicture: false, sample: 0,
  again: null, pass: [], marks: [],
};

/** A name that no other answer has; also where the browser knows no secure context. */
export const newId = () =>
  [...crypto.getRandomValues(new Uint8Array(15))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export function complain(error) {
  $("problem").textContent = error.message;
  $("problem").hidden = false;
}

const SHELF = "weakly settings";
const USUAL = { volume: 1, shift: 0, contrast: 0, part: 1, pause: 30, keys: {} };

function held() {
  try {
    return JSON.parse(localStorage.getItem(SHELF)) ?? {};
  } catch {
    return {};
  }
}

/** What this person has set in this browser: sound, picture, keys. */
export const settings = { ...USUAL, ...held() };

export function keep(changes) {
  Object.assign(settings, changes);
  try {
    localStorage.setItem(SHELF, JSON.stringify(settings));
  } catch {
    // A browser that keeps nothing: it holds until the page is left.
  }
}
