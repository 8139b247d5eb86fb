// The shell: tabs, the link and the history that carry the settings, and the start.
import { el, toast, vocabulary } from "./dom.js";
import { Panel } from "./panel.js";
import { plan } from "./plan.js";
import { readToken, sent } from "./server.js";
import { audit, evaluate, simulate } from "./tools.js";

const panels = [];
let current = null;

/** The tab that is open with its settings, and those of the other tabs under their names. */
function hash() {
  const settings = new URLSearchParams(current.settings());
  for (const panel of panels) if (panel !== current) for (const [name, value] of panel.settings()) settings.append(`${panel.name}.${name}`, value);
  const text = settings.toString();
  return `#${current.name}${text ? `?${text}` : ""}`;
}

/** Every state that somebody rests at is one step of the history. */
let hashTimer = 0;
function remember(wait = 500) {
  clearTimeout(hashTimer);
  const push = () => { if (location.hash !== hash()) history.pushState(null, "", hash()); };
  if (wait) hashTimer = setTimeout(push, wait);
  else push(); // a tab that was opened is in the address at once: a reload may follow
}

function open(name, { focus = false } = {}) {
  current = panels.find((panel) => panel.name === name) ?? panels[0];
  for (const panel of panels) {
    const chosen = panel === current;
    panel.node.hidden = !chosen;
    panel.tab.setAttribute("aria-selected", chosen);
    panel.tab.tabIndex = chosen ? 0 : -1;
  }
  if (focus) current.tab.focus();
  document.querySelector(".skip").setAttribute("href", `#answer-${current.name}`);
  if (current.last === null && current.node.dataset.state === "empty") current.run();
  else window.dispatchEvent(new Event("resize")); // figures drawn while hidden have no size
}

/** Makes the page what the address says: settings of every tab, and which one is open. */
function follow() {
  clearTimeout(hashTimer);
  const [name, text] = location.hash.slice(1).split("?");
  const settings = [...new URLSearchParams(text ?? "")];
  const chosen = panels.find((each) => each.name === name) ?? panels[0];
  for (const panel of panels) {
    const own = settings.filter(([key]) => panel === chosen ? !key.includes(".") : key.startsWith(`${panel.name}.`));
    const changed = panel.restore(new URLSearchParams(own.map(([key, value]) => [key.replace(`${panel.name}.`, ""), value])));
    if (changed && (panel.last !== null || panel === chosen)) { panel.await(); panel.run(); }
  }
  open(chosen.name);
}

function keys(event) {
  const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const at = panels.indexOf(current);
  const to = move ? (at + move + panels.length) % panels.length : { Home: 0, End: panels.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  open(panels[to].name, { focus: true });
  remember(0);
}

async function copyLink() {
  history.replaceState(null, "", hash());
  try {
    await navigator.clipboard.writeText(location.href);
    toast("The link with these settings is in the clipboard; files are not part of it.");
  } catch {
    toast("The address of this page holds the settings: copy it from the browser's address bar.");
  }
}

async function start() {
  readToken(localStorage); // for every tab, as the links that people copy hold no token
  const symbols = await sent("api/symbols", {});
  Object.assign(vocabulary, symbols);
  const tabs = document.getElementById("tabs");
  for (const spec of [plan, evaluate, simulate, audit]) {
    const panel = new Panel(spec, symbols, remember);
    panel.tab = el("button", { type: "button", role: "tab", id: `tab-${spec.name}`, "aria-controls": `panel-${spec.name}`, text: spec.title, onclick: () => { open(spec.name); remember(0); } });
    panels.push(panel);
    tabs.append(panel.tab);
    document.getElementById("panels").append(panel.node);
  }
  tabs.addEventListener("keydown", keys);
  document.getElementById("copy-link").addEventListener("click", copyLink);
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); current.answer.focus(); });
  window.addEventListener("popstate", follow);
  document.addEventListener("open-elsewhere", ({ detail: { kind, file } }) => {
    open(kind === "answers" ? "audit" : "evaluate");
    remember(0);
    current.form.field(kind === "answers" ? "weak" : "file").take(file);
  });
  for (const panel of panels) for (const field of panel.form.fields) field.recall?.();
  follow();
}

start().catch((error) => document.getElementById("panels").replaceChildren(el("p", { role: "alert", text: error.message })));
