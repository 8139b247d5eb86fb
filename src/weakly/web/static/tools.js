// The tabs evaluate, simulate and audit.
import { el, numbers, show, table, words } from "./dom.js";
import { curves, figure } from "./figures.js";

const RULES = [["", "share of the event (presence criterion)"], ["any", "any overlap"], ["birdnet", "BirdNET"], ["opensoundscape", "OpenSoundscape"], ["koogu", "Koogu"], ["hoplite", "Hoplite"], ["a-cpd", "A-CPD"], ["fsd-mix-sed", "FSD-MIX-SED"], ["other", "another rule …"]];
const COLUMNS = ["label", "segment_length", "presence_criterion", "rule", "annotator", "overlap_accuracy", "event_recall", "precision", "recall", "recording_accuracy", "wrong_time", "n_queries", "listened"];
const shown = (rows) => COLUMNS.filter((name) => rows.some((row) => known(row[name])));

const known = (value) => value !== undefined && value !== null && value !== "";

/** The rows of each class and criterion, in the order in which they come. */
function grouped(rows) {
  const groups = new Map();
  for (const row of rows) {
    const rule = row.rule ?? row.annotator ?? (known(row.presence_criterion) ? `γ = ${row.presence_criterion}` : null);
    const key = JSON.stringify([row.label, rule]);
    if (!groups.has(key)) groups.set(key, { name: [row.label, rule].filter(known).join(", "), label: row.label, rule, rows: [] });
    groups.get(key).rows.push(row);
  }
  return [...groups.values()];
}

/** Accuracy near events (solid) and share of events found (dotted) over segment length. */
async function lengthFigure(node, groups) {
  const traces = groups.slice(0, 7).flatMap((group, k) => {
    const sorted = [...group.rows].sort((a, b) => a.segment_length - b.segment_length);
    const x = sorted.map((row) => row.segment_length);
    const line = (word, dash, legend) => ({ name: legend ? group.name || "accuracy near events" : "events found", x, y: sorted.map((row) => row[word]), dash, colour: k, legend });
    return [line("overlap_accuracy", "solid", true), line("event_recall", "dot", false)];
  });
  await curves(node, { traces, x: { title: "segment length (s)", log: true }, y: { title: "share", share: true, range: [0, 1.03] } });
}

/** What the best row of a group says, in words; accuracy never without the share of events found. */
function sentence({ label, rule, rows }) {
  const best = rows.reduce((a, b) => ((b.overlap_accuracy ?? -1) > (a.overlap_accuracy ?? -1) ? b : a));
  const percent = (value) => (known(value) ? `${(100 * value).toFixed(value > 0.995 && value < 1 ? 1 : 0)} %` : "–");
  const start = [label, rule].filter(known).join(", ");
  const which = rows.length > 1 ? `of these lengths ${show("segment_length", best.segment_length)} s is best` : `${show("segment_length", best.segment_length)} s segments`;
  return `${start ? `${start}: ` : ""}${which}, with ${percent(best.overlap_accuracy)} accuracy near events and ${percent(best.event_recall)} of events found.`;
}

async function showRows(panel, rows) {
  const groups = grouped(rows);
  const [first, ...others] = groups.map(sentence);
  panel.answer.textContent = first ?? "There is nothing to show.";
  const parts = [el("ul", { class: "more" }, ...others.slice(0, 12).map((text) => el("li", { text })))];
  const picture = groups.some((group) => group.rows.length > 1) ? figure(`Accuracy near events (solid) and share of events found (dotted) over segment length${groups.length > 7 ? "; the first seven" : ""}.`) : null;
  if (picture) parts.push(picture.node);
  parts.push(table(rows, { columns: shown(rows), caption: "Results" }));
  panel.output.replaceChildren(...parts);
  if (picture) await lengthFigure(picture.plot, groups);
}

const fileField = (panel, name, label, more = {}) => ({
  name, label, kind: "file", help: "DCASE, Raven, Audacity, BirdNET, Label Studio, RTTM, CSV, Parquet and others; told apart by content.",
  onreceived: (received) => panel.form.field("label")?.options([["", "all, each by itself"], ...(received?.labels ?? []).map((each) => [each, each])]), ...more,
});

export const evaluate = {
  name: "evaluate", title: "Evaluate", endpoint: "api/evaluate", button: "Evaluate",
  invitation: "Send strong annotations and see what fixed segments make of them: how right the labels are, and which events vanish.",
  groups: (panel) => [
    { legend: "Annotations", fields: [fileField(panel, "file", "Events with onsets and offsets"), { name: "label", label: "Class", kind: "select", options: [["", "all, each by itself"]] }] },
    { legend: "Segments", fields: [
      { name: "segment_length", label: "Segment lengths", mark: "d_q", kind: "text", value: "0.5, 1, 2, 3, 5, 10", help: "Seconds, separated by commas." },
      { name: "phase", label: "Where the grid starts", kind: "select", value: "random", options: [["random", "anywhere (exact average)"], ["0", "at 0 s"]] }] },
    { legend: "When is a segment present?", fields: [
      { name: "preset", label: "Rule", kind: "select", value: "", options: RULES, aka: ["rule"] },
      { name: "presence_criterion", label: "Presence criteria", mark: "γ", unit: "", kind: "text", value: "0.5", help: "Least share of an event that is noticed; several with commas.", when: (values) => values.preset === "" },
      { name: "rule", label: "Rule in words", kind: "text", value: "seconds:0.25", help: "For example seconds:0.25, coverage:0.5, shorter:0.5, joined by |.", when: (values) => values.preset === "other" }] },
  ],
  question: (values, panel) => {
    if (!values.file) { panel.form.showError("file", "Send a file first."); return null; }
    const { preset, phase, ...rest } = values;
    const question = { ...rest, segment_length: numbers(values.segment_length), phase: phase === "0" ? 0 : "random" };
    if (values.presence_criterion) question.presence_criterion = numbers(values.presence_criterion);
    if (preset && preset !== "other") question.rule = preset;
    return question;
  },
  render: (panel, result) => showRows(panel, result.rows),
  downloads: [],
};

export const simulate = {
  name: "simulate", title: "Simulate", endpoint: "api/simulate", button: "Simulate",
  invitation: "Draw recordings with random events, label them with fixed segments, and see how right the labels become, with standard errors.",
  groups: () => [
    { legend: "Events", fields: [
      { name: "event_length", label: "Event length", mark: "d_e", kind: "text", value: "gamma:0.8,loc=0.5", help: "Seconds, several (0.5,1,4) or a law (gamma:0.8,loc=0.5)." },
      { name: "n_events", label: "Events per recording", mark: "M", kind: "number", value: 3, slider: [0, 100], whole: true },
      { name: "recording_length", label: "Recording length", mark: "T", kind: "number", value: 100, slider: [1, 3600], log: true },
      { name: "placement", label: "Where events fall", kind: "select", value: "uniform", options: [["uniform", "anywhere"], ["poisson", "random number of them (Poisson)"], ["spaced", "apart from each other"]] }] },
    { legend: "Segments", fields: [{ name: "segment_length", label: "Segment lengths", mark: "d_q", kind: "text", value: "0.25, 0.5, 1, 2, 3, 5, 10" }] },
    { legend: "Annotator", fields: [
      { name: "presence_criterion", label: "Presence criteria", mark: "γ", unit: "", kind: "text", value: "0.5" },
      { name: "guess_rate", label: "Guesses (present without cause)", kind: "number", value: 0, slider: [0, 0.5] },
      { name: "lapse_rate", label: "Lapses (absent in spite of it)", kind: "number", value: 0, slider: [0, 0.5] },
      { name: "flip_rate", label: "Flipped labels", mark: "ρ", kind: "number", value: 0, slider: [0, 0.5] }] },
    { legend: "How much", fields: [
      { name: "n_recordings", label: "Recordings", kind: "number", value: 1000, slider: [10, 100000], log: true, whole: true },
      { name: "seed", label: "Seed", kind: "number", value: 1, help: "The same seed gives the same numbers." }] },
  ],
  question: (values) => ({ ...values, segment_length: numbers(values.segment_length), presence_criterion: numbers(values.presence_criterion) }),
  render: (panel, result) => showRows(panel, result.rows),
  downloads: [],
};

const PARTS = [["criteria", "Presence criterion"], ["rules", "Clip rules that fit"], ["votes", "How many votes are enough"], ["quality", "Quality of the weak labels"], ["ceiling", "What a perfect model reaches on them"], ["agreement", "Agreement of the annotators"], ["annotation_agreement", "Agreement in time"], ["effort", "Time per query"], ["annotators", "Annotators"], ["strong", "The strong annotations"]];

/** P(present) over how much of an event a segment holds, with its band: over all classes, or the first. */
function detection(rows) {
  const label = rows.some((row) => row.label === "all") ? "all" : rows[0]?.label;
  const of = (scale) => rows.filter((row) => row.label === label && row.scale === scale && row.middle > 0);
  const shares = of("event_fraction");
  const scale = shares.length > 2 && shares.some((row) => row.low < 0.5) ? "event_fraction" : "event_seconds";
  const shownRows = of(scale);
  if (shownRows.length < 2) return null;
  const picture = figure(`How often a segment is labelled present${label === "all" ? "" : ` (${label})`}, with 95 % bands.`);
  const column = (name) => shownRows.map((row) => row[name]);
  const title = scale === "event_fraction" ? "share of the event in the segment" : "seconds of event in the segment";
  const draw = () => curves(picture.plot, { traces: [{ name: "labelled present", x: column("middle"), y: column("present"), band: [column("present_low"), column("present_high")] }], x: { title }, y: { title: "P(present)", share: true, range: [0, 1.03] } });
  return { node: picture.node, draw };
}

/** The tables in a part of an audit: an array of rows, or an object that holds some. */
function tables(title, part) {
  if (Array.isArray(part)) return part.length && typeof part[0] === "object" ? [table(part, { caption: title, limit: 50 })] : [];
  if (part === null || typeof part !== "object") return [];
  const plain = Object.fromEntries(Object.entries(part).filter(([, value]) => typeof value !== "object" && value !== null));
  const inside = Object.entries(part).flatMap(([name, value]) => tables(`${title}: ${words(name)}`, value));
  return Object.keys(plain).length ? [table([plain], { caption: title }), ...inside] : inside;
}

export const audit = {
  name: "audit", title: "Audit", endpoint: "api/audit", button: "Audit",
  invitation: "Send strong and weak labels of the same recordings: how sensitive were the annotators, how wrong are the weak labels, what can a perfect model reach on them?",
  groups: (panel) => [
    { legend: "Labels of the same recordings", fields: [
      fileField(panel, "strong", "Strong: events with onsets and offsets"),
      fileField(panel, "weak", "Weak: what was said of clips", { upload: "answers", onreceived: undefined, help: "Clip tables, DCASE and AudioSet weak labels, Label Studio choices." }),
      { name: "label", label: "Class", kind: "select", options: [["", "all"]] },
      { name: "unlisted", label: "A class that a clip does not list", kind: "select", value: "", options: [["", "as such data are used"], ["absent", "was looked for and is absent"], ["unknown", "is unknown"]] }] },
  ],
  question: (values, panel) => {
    if (values.strong || values.weak) return values;
    panel.form.showError("strong", "Send strong or weak labels first, or both.");
    return null;
  },
  render: async (panel, result) => {
    const [first, ...others] = result.findings;
    const picture = detection(result.curves);
    panel.answer.textContent = first?.text ?? "Nothing was found.";
    panel.notes.append(...result.notes.map((text) => el("p", { class: "note", text })));
    panel.output.replaceChildren(el("ul", { class: "more" }, ...others.map((finding) => el("li", { text: finding.text }))), ...(picture ? [picture.node] : []), ...PARTS.flatMap(([name, title]) => tables(title, result[name])));
    if (picture) await picture.draw();
  },
  downloads: [{ text: "Download report", path: "api/report/audit" }],
};
