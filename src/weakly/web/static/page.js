// The shell: tabs, the link that carries the settings, and the start.
import { el, toast, vocabulary } from "./dom.js";
import { Panel } from "./panel.js";
import { plan } from "./plan.js";
import { audit, evaluate, simulate } from "./tools.js";

const panels = [];
let current = null;

function hash() {
  const settings = new URLSearchParams(current.form.settings()).toString();
  return `#${current.name}${settings ? `?${settings}` : ""}`;
}

let hashTimer = 0;
function remember() {
  clearTimeout(hashTimer);
  hashTimer = setTimeout(() => history.replaceState(null, "", hash()), 200);
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
  if (current.spec.live && current.last === null) current.run();
  else window.dispatchEvent(new Event("resize")); // figures drawn while hidden have no size
}

function follow() {
  const [name, settings] = location.hash.slice(1).split("?");
  const panel = panels.find((each) => each.name === name) ?? panels[0];
  panel.form.restore(new URLSearchParams(settings ?? ""));
  panel.last = null;
  open(panel.name);
}

function keys(event) {
  const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const at = panels.indexOf(current);
  const to = move ? (at + move + panels.length) % panels.length : { Home: 0, End: panels.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  open(panels[to].name, { focus: true });
  remember();
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
  const symbols = await (await fetch("api/symbols")).json();
  Object.assign(vocabulary, symbols);
  const tabs = document.getElementById("tabs");
  for (const spec of [plan, evaluate, simulate, audit]) {
    const panel = new Panel(spec, symbols, remember);
    panel.tab = el("button", { type: "button", role: "tab", id: `tab-${spec.name}`, "aria-controls": `panel-${spec.name}`, text: spec.title, onclick: () => { open(spec.name); remember(); } });
    panels.push(panel);
    tabs.append(panel.tab);
    document.getElementById("panels").append(panel.node);
  }
  tabs.addEventListener("keydown", keys);
  document.getElementById("copy-link").addEventListener("click", copyLink);
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); current.answer.focus(); });
  window.addEventListener("hashchange", follow);
  follow();
}

start();
