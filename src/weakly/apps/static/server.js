// Questions to the server: one at a time per place, with progress, and cancelled when nobody needs the answer.

export class Problem extends Error {
  constructor(field, message, status) {
    super(message);
    this.field = field;
    this.status = status;
  }
}

let token = null;

/** Takes the token of the link into this storage, and out of the address that people might copy. */
export function readToken(storage) {
  addEventListener("hashchange", () => location.hash.startsWith("#token=") && location.reload()); // a new link in an old tab
  const given = /^#token=(\w+)$/.exec(location.hash)?.[1];
  if (given) {
    storage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }
  token = given ?? storage.getItem("token");
  return token;
}

async function problem(response) {
  try {
    const body = await response.json();
    return new Problem(body.field ?? null, body.message ?? response.statusText, response.status);
  } catch {
    return new Problem(null, `The server answered ${response.status}.`, response.status);
  }
}

/** The response, if it is a good one; a server that is away is a problem like others. */
async function reach(path, request) {
  let response;
  const headers = token ? { ...request.headers, Authorization: `Bearer ${token}` } : request.headers;
  try {
    response = await fetch(path, { ...request, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(null, "The server does not answer; is `weakly serve` still running?", 0);
  }
  if (!response.ok) throw await problem(response);
  return response;
}

export const sent = async (path, request) => (await reach(path, request)).json();

async function readLines(response, progress) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      if (message.progress) progress(message.progress);
      else if (message.error) throw new Problem(message.error.field, message.error.message, message.status);
      else return { result: message.result, notes: message.notes };
    }
    if (done) throw new Problem(null, "The server stopped before it had an answer.", 0);
  }
}

const PAUSE = 1000; // milliseconds after which a busy server is asked again

/** What comes of asking: again and again while the server has too much to do, until nobody waits any more. */
async function patiently(work, signal) {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (error.status !== 429) throw error;
      await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
      signal?.throwIfAborted();
    }
  }
}

/** The answer to a JSON question: {result, notes}. */
export function ask(path, question, { signal, progress = () => {} } = {}) {
  const headers = { "Content-Type": "application/json", Accept: "application/x-ndjson, application/json" };
  return patiently(async () => {
    const response = await reach(path, { method: "POST", headers, body: JSON.stringify(question), signal });
    if (response.headers.get("Content-Type").startsWith("application/x-ndjson")) return readLines(response, progress);
    const notes = JSON.parse(response.headers.get("Weakly-Notes") ?? "[]");
    return { result: await response.json(), notes };
  }, signal);
}

/** The answer to a question as a file: {name, blob}. */
export async function fetchFile(path, question, { signal } = {}) {
  const response = await patiently(() => reach(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question), signal }), signal);
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? "weakly";
  return { name, blob: await response.blob() };
}

/** What the server read from a file, with the key under which it keeps it. */
export function upload(file, fields, { signal } = {}) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (value !== null && value !== "") form.append(name, value);
  form.append("file", file, file.name);
  return patiently(() => sent("api/upload", { method: "POST", body: form, signal }), signal);
}

/** The bundled example, as if it had been sent. */
export const example = (kind, { signal } = {}) => patiently(() => sent(`api/example?kind=${kind}`, { method: "POST", signal }), signal);

/** Runs at most one question at a time; a new one cancels the one before. */
export class Place {
  #controller = null;
  cancel() {
    this.#controller?.abort();
    this.#controller = null;
  }
  async run(work) {
    this.cancel();
    const controller = new AbortController();
    this.#controller = controller;
    try {
      return await work(controller.signal);
    } finally {
      if (this.#controller === controller) this.#controller = null;
    }
  }
}
