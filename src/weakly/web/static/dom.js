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

const SHARES = ["accuracy", "precision", "recall", "bound", "share", "coverage", "f1", "kappa"];

/** A value as people read it; the same formats as the tables of the command line. */
export function show(name, value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map((each) => show(name, each)).join(" – ");
  if (typeof value !== "number") return String(value).length > 200 ? `${String(value).slice(0, 199)}…` : String(value);
  if (SHARES.some((word) => name.includes(word))) return value.toFixed(3);
  if (name.startsWith("n_") || Number.isInteger(value) || Math.abs(value) >= 10000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(4)));
}

/** The numbers of a list such as "1, 3, 10"; what is no number becomes NaN, which the server refuses. */
export const numbers = (text) => String(text).split(/[,;\s]+/).filter((part) => part !== "").map(Number);

/** The words of results as people say them, with their definitions; filled once from the server. */
export const vocabulary = {};

export const words = (name) => vocabulary[name]?.plain ?? name.replace(/^n_/, "").replaceAll("_", " ");

function cell(name, row) {
  const error = row[`${name}_se`];
  return show(name, row[name]) + (typeof error === "number" && error > 0 && typeof row[name] === "number" ? ` ± ${Number(error.toPrecision(2))}` : "");
}

/** A table of rows (objects) with the given columns; `chosen` marks rows. */
export function table(rows, { columns = null, caption = null, chosen = () => false, limit = 200 } = {}) {
  const names = columns ?? [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) =>
    rows.some((row) => typeof row[name] !== "object" || row[name] === null || Array.isArray(row[name])));
  const isWord = (name) => rows.every((row) => typeof row[name] !== "number" && row[name] !== null) || name === "label";
  const kinds = Object.fromEntries(names.map((name) => [name, isWord(name) ? "word" : null]));
  const head = el("tr", {}, ...names.map((name) => el("th", { scope: "col", class: kinds[name], title: vocabulary[name]?.meaning ?? null, text: words(name) })));
  const body = rows.slice(0, limit).map((row) =>
    el("tr", { class: chosen(row) ? "chosen" : null }, ...names.map((name) => el("td", { class: `${kinds[name] ?? ""} ${name}`, text: cell(name, row) }))));
  const note = rows.length > limit ? el("p", { class: "help", text: `${limit} of ${rows.length} rows; the JSON has them all.` }) : null;
  const grid = el("table", {}, caption ? el("caption", { text: caption }) : null, el("thead", {}, head), el("tbody", {}, ...body));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption ?? "table" }, grid, note);
}

let toastTimer = 0;
export function toast(text) {
  const node = document.getElementById("toast");
  node.textContent = text;
  node.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => node.classList.remove("shown"), 2500);
}

export function save(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
