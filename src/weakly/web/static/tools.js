// The tabs evaluate, simulate and audit.
import { el, table, words } from "./dom.js";
import { curves, figure } from "./figures.js";

const numbers = (text) => String(text).split(/[,;\s]+/).filter((part) => part !== "").map(Number);
const RULES = [["", "share of the event (presence criterion)"], ["any", "any overlap"], ["birdnet", "BirdNET"], ["opensoundscape", "OpenSoundscape"], ["koogu", "Koogu"], ["hoplite", "Hoplite"], ["a-cpd", "A-CPD"], ["fsd-mix-sed", "FSD-MIX-SED"], ["other", "another rule …"]];
const COLUMNS = ["label", "segment_length", "presence_criterion", "rule", "overlap_accuracy", "event_recall", "precision", "recall", "recording_accuracy", "wrong_time", "n_queries", "listened"];
const shown = (rows) => COLUMNS.filter((name) => rows.some((row) => row[name] !== undefined && row[name] !== null && row[name] !== ""));

/** Accuracy given overlap and event recall over segment length, one pair of curves per criterion. */
async function lengthFigure(node, rows, marker) {
  const groups = new Map();
  for (const row of rows) {
    const key = [row.label, row.rule ?? (row.presence_criterion === null ? null : `γ = ${row.presence_criterion}`)].filter((part) => part !== undefined && part !== null && part !== "").join(", ");
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const traces = [...groups].slice(0, 7).flatMap(([name, group], k) => {
    const sorted = [...group].sort((a, b) => a.segment_length - b.segment_length);
    const x = sorted.map((row) => row.segment_length);
    const line = (word, dash) => ({ name: `${words(word)}${name ? `, ${name}` : ""}`, x, y: sorted.map((row) => row[word]), dash, colour: k });
    return [line("overlap_accuracy", "solid"), line("event_recall", "dot")];
  });
  await curves(node, { traces, x: { title: "segment length (s)", log: true }, y: { title: "share", share: true, range: [0, 1.02] }, marks: marker ?? [] });
}

function sentence(row) {
  const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(value > 0.995 ? 1 : 0)} %`);
  const rule = row.rule ? `the rule ${row.rule}` : `a presence criterion of ${row.presence_criterion}`;
  return `Segments of ${Number(row.segment_length.toPrecision(4))} s with ${rule}: ${percent(row.overlap_accuracy)} accuracy near events, ${percent(row.event_recall)} of events found.`;
}

async function showRows(panel, rows, answer) {
  panel.answer.textContent = answer ?? (rows.length ? sentence(rows[0]) : "There is nothing to show.");
  const parts = [];
  const lengths = new Set(rows.map((row) => row.segment_length));
  const picture = lengths.size > 1 ? figure("Accuracy given overlap and event recall over segment length") : null;
  if (picture) parts.push(picture.node);
  parts.push(table(rows, { columns: shown(rows), caption: "Results" }));
  panel.output.replaceChildren(...parts);
  if (picture) await lengthFigure(picture.plot, rows);
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
  render: (panel, result) => showRows(panel, result.rows ?? result.results ?? []),
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
  render: (panel, result) => showRows(panel, result.rows ?? result.results ?? []),
  downloads: [],
};

export const audit = {
  name: "audit", title: "Audit", endpoint: "api/audit", button: "Audit",
  invitation: "Send strong and weak labels of the same recordings: how sensitive were the annotators, how wrong are the weak labels, what can a perfect model reach on them?",
  groups: (panel) => [
    { legend: "Labels of the same recordings", fields: [
      fileField(panel, "strong", "Strong: events with onsets and offsets"),
      fileField(panel, "weak", "Weak: what was said of clips", { upload: "answers", onreceived: undefined, help: "Clip tables, DCASE and AudioSet weak labels, Label Studio choices." }),
      { name: "label", label: "Class", kind: "select", options: [["", "all"]] }] },
  ],
  question: (values, panel) => {
    for (const name of ["strong", "weak"]) if (!values[name]) panel.form.showError(name, "Send a file first.");
    return values.strong && values.weak ? values : null;
  },
  render: (panel, result) => {
    panel.answer.textContent = result.answer ?? "";
    panel.output.replaceChildren(el("pre", { text: JSON.stringify(result, null, 2) }));
  },
  downloads: [],
};
