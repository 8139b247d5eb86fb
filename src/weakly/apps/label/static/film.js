// Stills of a film beside each other: what happens when, at a glance.
import { el } from "./dom.js";

const HIGH = 72; // pixels

const happens = (film, kind) => new Promise((done, failed) => {
  film.addEventListener(kind, done, { once: true });
  film.addEventListener("error", () => failed(film.error), { once: true });
});

/** Draw stills of these seconds on a canvas, from left to right; what is drawn later on the same canvas wins. */
export async function stills(canvas, source, [low, high]) {
  const name = JSON.stringify([source, low, high]);
  if (canvas.dataset.stills === name) return;
  Object.assign(canvas.dataset, { stills: name, drawn: 0 });
  const film = el("video", { preload: "auto" });
  film.muted = true;
  try {
    const there = happens(film, "loadeddata");
    film.src = source;
    await there;
    const wide = canvas.clientWidth;
    const count = Math.max(2, Math.round(wide / ((HIGH * film.videoWidth) / film.videoHeight)));
    const paint = canvas.getContext("2d");
    for (let k = 0; k < count && canvas.dataset.stills === name; k += 1) {
      const seen = happens(film, "seeked");
      film.currentTime = low + ((k + 0.5) * (high - low)) / count;
      await seen;
      if (canvas.dataset.stills !== name) break;
      if (k === 0) Object.assign(canvas, { width: wide, height: HIGH });
      paint.drawImage(film, (k * wide) / count, 0, wide / count - 1, HIGH);
      canvas.dataset.drawn = (k + 1) / count;
    }
  } catch {
    // A film that the browser cannot read: where it plays, that is said.
  }
  film.removeAttribute("src");
  film.load();
}
