// The way to the server and back. What was answered is kept in this browser, for this campaign and person, until the
// server has stored it; it is sent again under the same name, also after a reload, by whichever tab comes first.
import { el } from "./dom.js";
import { Problem, readToken } from "./server.js";
import { $, complain, me, now, settings } from "./state.js";

const API = "api/1";
const PATIENCE = 60000; // milliseconds until what was sent is sent again
const token = readToken(sessionStorage); // of this tab: several people may share a browser

export async function call(path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const how = body === undefined ? { headers } : {
    method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE),
  };
  let response;
  try {
    response = await fetch(`${API}/${path}`, how);
  } catch {
    throw new Problem(null, "The server does not answer; is weakly label still running?", 0);
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Problem(said.field ?? null, said.message ?? `The server answered ${response.status}.`, response.status);
}

export const json = async (path, body) => (await call(path, body)).json();
const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

const shelf = () => `weakly ${JSON.stringify([me.campaign, me.annotator])} `;
const unsent = () => Object.keys(localStorage).filter((key) => key.startsWith(shelf())).sort();

function state(text) {
  $("saved").textContent = text;
  $("saved").classList.toggle("waiting", text.startsWith("not"));
}

/** The answer to a question that is asked until the server can tell; what it refuses is a problem at once. */
export async function patiently(path) {
  for (let wait = 0.2; ; wait = Math.min(5, 2 * wait)) {
    try {
      const said = await json(path);
      $("problem").hidden = true;
      return said;
    } catch (error) {
      if (error.status && error.status < 500 && error.status !== 429) throw error;
      complain(error);
      await pause(wait);
    }
  }
}

export function send(path, body) {
  const key = `${shelf()}${Date.now()} ${body.id}`;
  try {
    localStorage.setItem(key, JSON.stringify({ path, body }));
  } catch {
    // A browser that keeps nothing: it is sent all the same, and only a reload would lose it.
  }
  return deliver(key, path, body);
}

async function deliver(key, path, body) {
  state("saving…");
  for (let wait = 0.2; ; wait = Math.min(5, 2 * wait)) {
    try {
      const said = await json(path, body);
      if (["tell", "tick"].includes(path) && typeof said.kept !== "boolean") {
        throw new Problem(null, "The server does not say whether it has stored the answer.", 0);
      }
      localStorage.removeItem(key);
      $("problem").hidden = true;
      state(said.kept === false ? "not saved: you had answered this one already" : "saved");
      return said;
    } catch (error) {
      if (error.status === 422) { // the one status that is about the answer itself: it can never be stored
        localStorage.removeItem(key);
        state("not saved");
        throw new Problem(error.field, `Not saved: ${error.message}`, 422);
      }
      state("not saved yet, trying again…");
      complain(error);
      await pause(wait);
    }
  }
}

/** Send what earlier pages could not; what was refused, as problems. */
export async function deliverUnsent() {
  const refused = [];
  for (const key of unsent()) {
    const { path, body } = JSON.parse(localStorage.getItem(key) ?? "{}"); // another tab may have sent it by now
    if (path) await deliver(key, path, body).catch((error) => refused.push(error));
  }
  return refused;
}

// Sound and picture of a segment, fetched before they are needed. ----------------------------------------------------

const kept = new Map();

/** Slow sound is made by the server, which loses nothing above what a browser plays; see media.sound. */
const slow = () => (now.speed < 1 ? now.speed : 1);

export function load(item, context = false) {
  const { shift, contrast, part } = settings;
  const key = JSON.stringify([item.query, context, slow(), shift, contrast, part]);
  if (!kept.has(key)) {
    const loading = fetchMedia(item, { ...(context && { context }), ...(shift && { shift }), ...(contrast && { contrast }), ...(part < 1 && { part }) });
    loading.catch(() => kept.delete(key));
    kept.set(key, loading);
    for (const old of [...kept.keys()].slice(0, Math.max(0, kept.size - 12))) {
      kept.get(old).then(release, () => {});
      kept.delete(old);
    }
  }
  return kept.get(key);
}

const release = (media) => [media.picture, media.sound].forEach((url) => url && URL.revokeObjectURL(url));

async function fetchMedia(item, how) {
  const { context = false } = how;
  if (item.kind === "video") {
    const ahead = el("video", { preload: "auto" }); // the browser keeps what it has read of the file
    ahead.src = `${API}/${item.video}`;
    return { picture: null, sound: null, film: ahead.src, span: context ? item.with_context : [item.onset, item.offset] };
  }
  const asked = (given) => (Object.keys(given).length ? `?${new URLSearchParams(given)}` : "");
  const picture = call(`picture/${item.query}${asked(how)}`);
  const pace = slow();
  const sound = item.kind === "sound" ? await (await call(`sound/${item.query}${asked({ ...(context && { context }), ...(pace < 1 && { speed: pace }) })}`)).blob() : null;
  const drawn = await picture;
  return {
    picture: URL.createObjectURL(await drawn.blob()), sound: sound && URL.createObjectURL(sound), pace,
    wave: sound && peaks(await sound.arrayBuffer()), span: drawn.headers.get("Weakly-Span").split(",").map(Number),
  };
}

const WAVE = 900; // columns of the waveform
const HEADER = 44; // bytes before the samples of a WAV file of 16 bits

/** The smallest and the largest sample of each column. */
function peaks(buffer) {
  const channels = new DataView(buffer).getUint16(22, true);
  const samples = new Int16Array(buffer.slice(HEADER, HEADER + 2 * Math.floor((buffer.byteLength - HEADER) / 2)));
  const count = Math.floor(samples.length / channels);
  const columns = Math.max(1, Math.min(WAVE, count));
  return Array.from({ length: columns }, (_, k) => {
    let [low, high] = [0, 0];
    for (let i = Math.floor((k * count) / columns); i < Math.floor(((k + 1) * count) / columns); i += 1) {
      const value = samples[i * channels] / 32768;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return [low, high];
  });
}
