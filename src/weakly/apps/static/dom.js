// Small things that every part of the page uses. Text from outside only ever becomes textContent.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function svg(tag, attributes = {}, text = null) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== null) node.textContent = text;
  return node;
}

const isShare = (name) => ["accuracy", "precision", "recall", "bound", "share", "coverage", "agreement", "present_if", "flip_rate", "guess_rate", "lapse_rate"].some((word) => name.includes(word));
const isScore = (name) => ["f1", "kappa", "perfect", "mimic"].some((word) => name.includes(word));

/** How many decimals, at least so many, keep what is not none and not the whole from being rounded to it. */
function kept(value, least, whole = 1) {
  const left = Math.min(Math.abs(value), Math.abs(whole - value));
  return left > 1e-9 * whole && left <= 0.5 * 10 ** -least ? -Math.floor(Math.log10(left) + 1e-9) : least;
}

/** A share as people say it, the same words as percent() of the command line; `exact` for a share that somebody gave. */
export function percent(value, exact = false) {
  if (!Number.isFinite(value)) return "–";
  const share = Math.abs(value) > 1e-9 ? 100 * value : 0;
  const places = exact ? 10 : kept(share, Math.abs(share) < 10 ? 1 : 0, 100);
  return `${share.toLocaleString("en-US", { maximumFractionDigits: places, roundingMode: "halfEven" })} %`;
}

/** A time as people say it. */
export function duration(seconds) {
  const [size, unit] = [[3600, "h"], [60, "min"]].find(([each]) => seconds >= each) ?? [1, "s"];
  return `${show("", seconds / size)} ${unit}`;
}

/** A value as people read it; the same formats as the tables of the command line. */
export function show(name, value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map((each) => show(name, each)).join(" – ");
  if (name === "listened" && typeof value === "number") return duration(value);
  if (name === "rule") return ruleWords(value);
  if (typeof value !== "number") return String(value).length > 200 ? `${String(value).slice(0, 199)}…` : String(value);
  if (isShare(name)) return percent(value);
  if (isScore(name)) return value.toFixed(kept(value, 3));
  if ((name.startsWith("n_") && Math.abs(value) >= 10) || Number.isInteger(value) || Math.abs(value) >= 100) return value.toLocaleString("en-US", { maximumFractionDigits: 0, roundingMode: "halfEven" });
  return String(Number(value.toPrecision(3)));
}

/** A rule as people say it; its short form is among the other columns. */
const RULE_WORDS = { fraction: (x) => `${percent(x, true)} of the event`, seconds: (x) => `${x} s of event`, coverage: (x) => `event in ${percent(x, true)} of the segment`, shorter: (x) => `${percent(x, true)} of the shorter of both`, margin: (x) => `an event ${x} s into it`, any: () => "any overlap" };
export const ruleWords = (rule) => rule.split("|").map((part) => { const [kind, value] = part.split(":"); return RULE_WORDS[kind]?.(Number(value)) ?? part; }).join(" or ");

/** What the library says of its arguments and options, in the words of a page. */
const SPOKEN = [[/\b((?:fraction|seconds|coverage|shorter|margin):\d*\.?\d+(?:\|[a-z]+(?::\d*\.?\d+)?)*|(?<=the rule )any\b)/g, (_, rule) => `“${ruleWords(rule)}”`], [/(?:[.:]| Run:| With --out plan\/:)+ weakly (?:queries|label) .*$/g, "."], [/: weakly [a-z]+ .*$/g, ""], [/\brun weakly (?=audit)/g, "use weakly "], [/\bweakly (plan|evaluate|simulate|audit)\b/g, (_, tab) => `the tab ${tab[0].toUpperCase()}${tab.slice(1)}`], [/\bweakly (infer|check|label|queries)\b/g, "the command weakly $1"], [/[;,] --[a-z][^.;,]*? (?:tells|gives|reads|takes|if) [^.;,]*/g, ""], [/[;,:]? (?:(?:with|by|give|see|or) )?--[a-z][-a-z]*(?: '?[\w:|<>=.\/]+'?(?=[ .,;)]|$))?/g, ""], [/on_error='(\w+)' \(--on-error \w+\)/g, "“$1” for broken rows, under “How to read it”,"], [/'(\w+)' \(--on-error \w+\)/g, "“$1”"], [/unlisted='absent' \(--unlisted absent\)/g, "“absent” for a class that a clip does not list"], [/ ?\(--[a-z][^)]*\)/g, ""], [/\bread_answers\b/g, "the tab Audit"], [/input should be a valid number.*/gi, "this must be a number"]];
export const spoken = (text) => SPOKEN.reduce((said, [pattern, word]) => said.replace(pattern, word), String(text));

/** A number and its unit stay on one line. */
export const unbroken = (text) => text.replace(/(\d) (s|h|min|%)(?![a-z])/g, "$1\u00a0$2");

/** The numbers of a list such as "1, 3, 10"; what is no number becomes NaN, which the server refuses. */
export const numbers = (text) => String(text).split(/[,;\s]+/).filter((part) => part !== "").map(Number);

/** The words of results as people say them, with their definitions; filled once from the server. */
export const vocabulary = {};

export const words = (name) => vocabulary[name]?.plain ?? name.replace(/^n_/, "").replaceAll("_", " ");

/** The head of a column: a word and the unit of the numbers under it. */
const headed = (name) => `${{ label: "class", wrong_time: "wrong time" }[name] ?? words(name)}${(vocabulary[name]?.unit && name !== "listened") || ["onset", "offset"].includes(name) ? " (s)" : ""}`;

/** The decimals that all numbers of a column share: as many as any of them needs, two if most are larger than 1, three at most. */
function decimals(name, rows) {
  const values = rows.map((row) => row[name]).filter((value) => typeof value === "number" && !Number.isNaN(value));
  if (name === "listened" || isShare(name) || values.length < 2 || values.every((value) => Number.isInteger(value) || Math.abs(value) >= 100)) return null;
  const needed = values.map((value) => (show(name, value).split(".")[1] ?? "").length);
  const middle = values.map(Math.abs).sort((a, b) => a - b)[Math.floor(values.length / 2)];
  return Math.min(Math.max(...needed), isScore(name) || middle < 1 ? 3 : 2);
}

/** A cell: its value and, as a part that narrow tables leave out, its standard error. */
function cell(name, row, places) {
  const value = row[name], error = row[`${name}_se`];
  const said = (number) => number.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
  const lost = (number) => [0, 1].some((end) => number !== end && Number(said(number).replaceAll(",", "")) === end && Number(show(name, number)) !== end);
  const shown = typeof value !== "number" || places === null ? unbroken(show(name, value)) : lost(value) ? show(name, value) : said(value);
  if (typeof error !== "number" || !(error > 0) || typeof value !== "number") return [shown];
  const spread = isShare(name) ? percent(error) : places === null ? (shown.includes(".") ? error.toFixed(shown.split(".")[1].length) : show(name, error)) : said(error);
  return [shown, el("span", { class: "error-of", text: ` ± ${Number(spread) === 0 ? `<${spread.replace(/0$/, "1")}` : spread}` })];
}

const PREFERRED = ["name", "label", "annotator", "rule", "recording", "onset", "offset", "segment_length", "presence_criterion", "overlap_accuracy", "event_recall", "precision", "recall", "wrong_time", "n_events", "n_queries", "cost", "note", "reason"];

/** Every column that holds something to read. */
const columnsOf = (rows) => [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) =>
  rows.some((row) => row[name] !== null && row[name] !== "" && row[name] !== undefined && (typeof row[name] !== "object" || Array.isArray(row[name]))));

/** Columns that fit beside each other: the first six of those that people read first. */
export function chosenColumns(rows, most = 6) {
  const all = columnsOf(rows);
  if (all.length <= most) return all;
  const first = PREFERRED.filter((name) => all.includes(name));
  const rest = all.filter((name) => !first.includes(name) && !name.endsWith("_se"));
  return [...first, ...rest].slice(0, most).sort((a, b) => all.indexOf(a) - all.indexOf(b));
}

function grid(rows, names, { caption, chosen = () => false, limit = Infinity, heads = {} }) {
  const isWord = (name) => rows.every((row) => typeof row[name] !== "number" && row[name] !== null) || name === "label";
  const kinds = Object.fromEntries(names.map((name) => [name, isWord(name) ? "word" : ""]));
  const title = (name) => heads[name] ?? headed(name);
  const places = Object.fromEntries(names.map((name) => [name, decimals(name, rows)]));
  const first = rows.length <= limit + 3 ? rows.length : limit; // two rows more are not worth a button
  const head = el("tr", {}, ...names.map((name) => el("th", { scope: "col", class: kinds[name], title: vocabulary[name]?.meaning ?? null, text: title(name) })));
  const line = (row) => el("tr", { class: chosen(row) ? "chosen" : null }, ...names.map((name) => el("td", { class: `${kinds[name]} ${name}`, "data-head": title(name) }, ...cell(name, row, places[name]))));
  const body = el("tbody", {}, ...rows.slice(0, first).map(line));
  const rest = rows.slice(first);
  const more = rest.length ? el("button", { type: "button", class: "all", text: `Show all ${rows.length.toLocaleString("en-US")}`, onclick: () => { body.append(...rest.map(line)); more.remove(); } }) : null;
  return [el("table", { style: `--columns: ${names.length}` }, caption ? el("caption", { text: caption }) : null, el("thead", {}, head), body), more];
}

/** A table of rows (objects) with columns that fit; the rest of the columns and rows wait behind a button, on a phone all but a short table behind its caption. */
export function table(rows, { columns = null, limit = 12, every = true, ...how } = {}) {
  if (!rows.length) return el("div"); // a caption alone says nothing
  const names = (columns ?? chosenColumns(rows)).filter((name) => rows.some((row) => row[name] !== undefined && row[name] !== null && row[name] !== ""));
  const phone = matchMedia("screen and (max-width: 40rem)").matches; // each row is a card there
  const folded = phone && every && how.caption && rows.length > 3;
  const parts = grid(rows, names, { ...how, ...(folded ? { caption: null } : {}), limit: Math.min(limit, phone ? 6 : limit) });
  const all = columnsOf(rows);
  if (every && all.some((name) => !names.includes(name) && !name.endsWith("_se"))) {
    const details = el("details", { class: "every" }, el("summary", { text: `Every column (${all.length})` }));
    details.addEventListener("toggle", () => {
      if (details.childElementCount === 1) details.append(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${how.caption ?? "Table"}, every column` }, ...grid(rows, all, { chosen: how.chosen, limit: 200 })));
    });
    parts.push(details);
  }
  const node = el("div", { class: "tabled" }, ...parts);
  return folded ? el("details", { class: "folded" }, el("summary", { text: `${how.caption} (${rows.length.toLocaleString("en-US")})` }), node) : node;
}

let toastTimer = 0;
export function toast(text, wait = 2500) {
  const node = document.getElementById("toast");
  node.textContent = text;
  node.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => node.classList.remove("shown"), wait);
}

export function save(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
