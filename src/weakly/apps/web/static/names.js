// Names of classes that files give as codes, such as /m/09x0r: from a table that somebody chooses, for this page only.

const names = new Map(JSON.parse(sessionStorage.getItem("names") ?? "[]"));

/** The cells of a line: tabs if it has any, else commas outside of quotes. */
const cells = (line) => (line.includes("\t") ? line.split("\t") : line.match(/"[^"]*"|[^,]+/g) ?? []).map((cell) => cell.trim().replace(/^"|"$/g, ""));

/** Reads the table: a line gives the class that one of its cells is the name in its last cell. How many it names. */
export function readNames(text, classes) {
  const wanted = new Set(classes), taken = new Set();
  let count = 0;
  for (const line of text.split(/\r?\n/)) {
    const row = cells(line), name = row.at(-1), code = row.slice(0, -1).find((cell) => wanted.delete(cell));
    if (!code || !name) continue;
    names.set(code, taken.has(name) ? `${name} (${code})` : name); // two classes stay two
    taken.add(name);
    count += 1;
  }
  sessionStorage.setItem("names", JSON.stringify([...names]));
  return count;
}

/** The same value with names for codes: in texts, lists and objects. */
export function named(value) {
  if (names.size === 0 || value === null) return value;
  if (typeof value === "string") return names.get(value) ?? (value.includes(" ") ? value.replace(/[^\s,;:()]*[^\s,;:().]/g, (word) => (/[a-z].*[^a-z]|[^a-z].*[a-z]/i.test(word) && names.get(word)) || word) : value);
  if (Array.isArray(value)) return value.map(named);
  return typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, named(each)])) : value;
}
