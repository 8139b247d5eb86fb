// The owner's instructions and sample sounds. Nothing of the text is ever taken as HTML.
import { el } from "./dom.js";
import { silence } from "./ear.js";
import { $, complain, me } from "./state.js";
import { call } from "./wire.js";

/** Bold, emphasis and code in a line; anything else is text, links and tags too. */
function inline(text) {
  return text.split(/(\*\*[^*]+\*\*|\*[^*]+\*|`[^`]+`)/).map((part) => {
    const found = /^(\*\*|\*|`)(.+)\1$/.exec(part);
    if (!found) return part;
    return el({ "**": "strong", "*": "em", "`": "code" }[found[1]], { text: found[2] });
  });
}

/** A text in Markdown as nodes: headings, lists, quotes and paragraphs. */
export function markdown(text) {
  const nodes = [];
  let list = null;
  let lines = [];
  const paragraph = () => {
    if (lines.length) nodes.push(el("p", {}, ...inline(lines.join(" "))));
    lines = [];
  };
  for (const line of text.split(/\r?\n/)) {
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    const item = /^\s*(?:[-*+]|\d+[.)])\s+(.*)$/.exec(line);
    if (!item && (heading || !line.trim())) list = null;
    if (heading || item || !line.trim()) paragraph();
    if (heading) nodes.push(el(heading[1].length < 2 ? "h2" : "h3", {}, ...inline(heading[2])));
    else if (item) {
      if (!list) nodes.push(list = el(/^\s*\d/.test(line) ? "ol" : "ul"));
      list.append(el("li", {}, ...inline(item[1])));
    } else if (list) list.lastChild.append(" ", ...inline(line.trim()));
    else if (line.trim()) lines.push(line.trim().replace(/^>\s?/, ""));
  }
  paragraph();
  return nodes;
}

async function hear(number, button) {
  silence();
  try {
    const url = URL.createObjectURL(await (await call(`guide/${number}`)).blob());
    const sound = new Audio(url);
    const over = () => { button.removeAttribute("aria-pressed"); URL.revokeObjectURL(url); };
    sound.addEventListener("ended", over);
    button.setAttribute("aria-pressed", "true");
    await sound.play();
  } catch (error) {
    complain(error);
  }
}

/** The samples, by class. */
function samples() {
  const labels = [...new Set(me.samples.map((each) => each.label))];
  return labels.map((label) => el("p", { class: "samples" }, el("strong", { text: label }), ...me.samples.flatMap((each, number) => (each.label === label
    ? [el("button", { type: "button", text: `▶ ${each.name}`, onclick: (event) => hear(number, event.currentTarget) })] : []))));
}

/** Fill the guide; whether there is one that nobody has read in this tab. */
export function guide() {
  const has = Boolean(me.instructions || me.samples?.length);
  $("guide").hidden = !has;
  document.body.classList.toggle("guided", has);
  if (!has) return false;
  $("instructions").replaceChildren(...markdown(me.instructions), ...samples());
  return sessionStorage.getItem("read") !== me.campaign;
}

/** Show the guide before the first question, until it is read. */
export function reading(begun) {
  document.body.classList.add("reading");
  $("guidance").open = true;
  $("read").hidden = false;
  $("read").focus();
  $("read").addEventListener("click", () => {
    sessionStorage.setItem("read", me.campaign);
    document.body.classList.remove("reading");
    $("read").hidden = true;
    if (matchMedia("(max-width: 40rem)").matches) $("guidance").open = false; // a small screen is for the picture
    begun();
  }, { once: true });
}
