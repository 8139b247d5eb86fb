// The tabs evaluate, simulate and audit.
import { chosenColumns, el, numbers, percent, ruleWords, spoken, svg, table, words } from "./dom.js";
import { sliderBox } from "./fields.js";
import { curves, dots, figure, glimpse, multiples, timeline } from "./figures.js";
import { named } from "./names.js";
import { Place, Problem, ask } from "./server.js";

const RULES = [["", "a share of the event"], ["any", "any overlap"], ["birdnet", "BirdNET"], ["opensoundscape", "OpenSoundscape"], ["koogu", "Koogu"], ["hoplite", "Hoplite"], ["a-cpd", "A-CPD"], ["fsd-mix-sed", "FSD-MIX-SED"], ["other", "another rule …"]];
const FIRST = ["label", "segment_length", "rule", "annotator", "presence_criterion", "overlap_accuracy", "event_recall", "wrong_time", "n_queries"];
const known = (value) => value !== undefined && value !== null && value !== "";

/** The columns that people read first; a criterion that is the same in all rows needs none. */
function columns(rows) {
  const differs = (name) => new Set(rows.map((row) => row[name])).size > 1;
  return FIRST.filter((name) => rows.some((row) => known(row[name])) && (!["label", "presence_criterion", "rule", "annotator"].includes(name) || differs(name)));
}

const observer = (row) => (row.rule ? ruleWords(row.rule) : row.annotator) ?? (known(row.presence_criterion) ? `criterion ${row.presence_criterion}` : "");

/** The rows that share what `name` says, in the order in which they come, each group by segment length. */
function grouped(rows, name) {
  const groups = new Map();
  for (const row of rows) groups.set(name(row), [...(groups.get(name(row)) ?? []), row]);
  return [...groups].map(([key, part]) => [key, part.sort((a, b) => a.segment_length - b.segment_length)]);
}

/** Two pictures over segment length, side by side: accuracy near events and events found, with the same colours. */
function overLengths(result) {
  const several = result.overall !== undefined, whole = result.overall ?? result.rows;
  if (new Set(whole.map((row) => row.segment_length)).size < 2) return null;
  const observers = grouped(whole, observer);
  const classes = several && observers.length === 1 ? grouped(result.rows, (row) => row.label) : [];
  const few = classes.length <= 5;
  const caption = several ? (few ? "" : `${classes.length || "All"} classes together; each by itself is below.`) : "Bands: two standard errors.";
  const at = (result.best ?? []).filter((row) => !several || row.label === "all");
  const marks = at.length > 2 ? [] : at.map((row) => ({ x: row.segment_length, text: `${at.length > 1 ? "" : "best: "}${row.segment_length} s` }));
  const finding = (word, title) => (at.length !== 1 || !known(at[0][word]) ? `${title} over segment length`
    : `${title}: ${percent(at[0][word])} at ${at[0].segment_length} s`);
  const pictures = [["overlap_accuracy", "Accuracy near events"], ["event_recall", "Events found"]].map(([word, title]) => {
    const picture = figure(finding(word, title), caption);
    const line = (name, rows, more) => ({ name, x: rows.map((row) => row.segment_length), y: rows.map((row) => row[word]), labels: rows.map(() => name), named: "%{x:,.3~g} s: %{customdata[1]}", ...more });
    const band = (rows) => (rows.some((row) => row[`${word}_se`] > 0) ? [-2, 2].map((k) => rows.map((row) => Math.min(1, Math.max(0, row[word] + k * row[`${word}_se`])))) : null);
    const traces = (few ? classes : []).map(([label, rows], k) => line(label, rows, { colour: k + 1, dotted: true }));
    traces.push(...observers.map(([name, rows], k) => line(several ? ["all classes", observers.length > 1 ? name : ""].filter(known).join(", ") : name, rows, { colour: k, dotted: true, band: band(rows) })));
    const draw = () => curves(picture.plot, { traces, x: { title: "segment length (s)", log: true }, y: { title: title.toLowerCase(), share: true, range: [0, 1.03] }, closest: true, marks });
    return { node: picture.node, draw };
  });
  const small = few ? [] : [multiples(classes, { word: "overlap_accuracy" })];
  return { node: el("div", {}, el("div", { class: "figures" }, ...pictures.map((each) => each.node)), ...small), draw: () => Promise.all(pictures.map((each) => each.draw())) };
}

async function showRows(panel, result) {
  const several = result.overall !== undefined, best = result.best ?? [];
  const picture = overLengths(result);
  const parts = picture ? [picture.node] : [];
  const isBest = (row, mine) => mine.some((each) => each.segment_length === row.segment_length && observer(each) === observer(row));
  const inOrder = (rows) => grouped(rows, (row) => `${row.label ?? ""} ${observer(row)}`).flatMap(([, part]) => part);
  const allFirst = (rows) => rows.map((row) => (row.label === "all" && several ? { ...row, label: "all classes" } : row));
  if (best.length && several) parts.push(table(allFirst(best), { columns: columns(best), caption: "Best segment length: all classes, then each", chosen: (row) => row.label === "all classes" }));
  if (several) parts.push(table(allFirst(result.overall), { columns: columns(result.overall), caption: "All classes together", chosen: (row) => isBest(row, best.filter((each) => each.label === "all")) }));
  const every = several && result.rows.length > 24;
  const rows = table(inOrder(result.rows), { columns: columns(result.rows), caption: several ? "Every class, every length" : "Every length", limit: 24, chosen: (row) => isBest(row, best.filter((each) => each.label === row.label)) });
  parts.push(every ? el("details", {}, el("summary", { text: `Every class, every length (${result.rows.length.toLocaleString("en-US")} rows)` }), rows) : rows);
  const beside = panel.name === "evaluate" ? lostEvents(panel, best) : oneRecording(panel, best);
  parts.splice(picture ? 1 : 0, 0, beside.node);
  panel.output.replaceChildren(...parts);
  if (picture) await picture.draw();
  await beside.draw();
}

/** The ten longest events that segments of a length lose, and a slider for the length. */
function lostEvents(panel, best) {
  const question = panel.last.question, lengths = [...question.segment_length].sort((a, b) => a - b), place = new Place();
  const chosen = (best.find((row) => row.label === "all") ?? best[0])?.segment_length ?? lengths[0];
  const said = el("p", { "aria-live": "polite" }), grid = el("div", { class: "glimpses" });
  const hint = el("p", { class: "help", text: "Hollow: the event; below it the segments around, none of which holds enough of it." });
  const draw = async () => {
    const length = Number(drag.box.value);
    try {
      const { result } = await place.run((signal) => ask("api/lost", { ...question, segment_length: length }, { signal }));
      const left = result.n_lost, whole = result.n_events.toLocaleString("en-US");
      const which = left > 10 ? " The ten longest:" : "";
      said.textContent = left === 0 ? `Segments of ${length} s from 0 s on lose none of ${whole} events.` : `Segments of ${length} s from 0 s on lose ${left.toLocaleString("en-US")} of ${whole} events (${percent(left / result.n_events)}).${which}`;
      grid.replaceChildren(...named(result.rows).map(glimpse));
      hint.hidden = left === 0;
    } catch (error) {
      if (error.name === "AbortError") return;
      if (!(error instanceof Problem)) throw error;
      said.textContent = spoken(error.message);
      grid.replaceChildren();
    }
  };
  const drag = sliderBox({ low: lengths[0], high: Math.max(lengths.at(-1), 1.01 * lengths[0]), log: true, value: chosen, id: "lost-length", label: "Segment length", onchange: draw });
  const node = el("div", {}, el("h3", { text: "Which events vanish" }), el("div", { class: "drag" }, el("label", { for: "lost-length", text: "Segment length (s)" }), drag.slider, drag.box), said, grid, hint);
  return { node, draw };
}

/** One recording of the simulation with the labels of the best length. */
function oneRecording(panel, best) {
  const rows = best.length ? best : panel.last.result.rows;
  const length = rows[0].segment_length, strip = svg("svg", { class: "timeline", role: "img", "aria-label": "One simulated recording and its labels" });
  const node = el("div", {}, el("h3", { text: `One of these recordings, in segments of ${length} s` }), strip, el("p", { class: "help", text: "Pink: wrong labels; hollow: events that are lost." }));
  const draw = async () => {
    const { result } = await ask("api/recording", { ...panel.last.question, segment_length: length });
    timeline(strip, result.timeline);
    new ResizeObserver(() => timeline(strip, result.timeline)).observe(node);
  };
  return { node, draw };
}

/** Sentences of an answer; a point within a number or a name does not end one. */
const sentences = (text) => text.split(/(?<=\.) (?=[A-Z])(?!This gives)/);

const fileField = (panel, name, label, more = {}) => ({
  name, label, kind: "file", help: "DCASE, Raven, Audacity, BirdNET, Label Studio, RTTM, CSV, Parquet and others; told apart by content.",
  onreceived: (received) => panel.form.field("label")?.options([["", "all, each by itself"], ...(received?.labels ?? []).map((each) => [each, each])]), ...more,
});

export const evaluate = {
  name: "evaluate", title: "Evaluate", endpoint: "api/evaluate", words: (result) => sentences(result.answer), example: { file: true },
  invitation: "Send strong annotations and see what fixed segments make of them: how right the labels are, and which events vanish.",
  promise: ["The best segment length, for all classes together and for each", "Accuracy near events and events found over segment length", "A table of every class and length, and a report to keep"],
  groups: (panel) => [
    { legend: "Annotations", fields: [fileField(panel, "file", "Events with onsets and offsets"), { name: "label", label: "Class", kind: "select", options: [["", "all, each by itself"]] }] },
    { legend: "Segments", fields: [
      { name: "segment_length", label: "Segment lengths", mark: "d_q", kind: "text", value: "0.5, 1, 2, 3, 5, 10", help: "Seconds, separated by commas." },
      { name: "phase", label: "Where the grid starts", kind: "select", value: "random", options: [["random", "anywhere (exact average)"], ["0", "at 0 s"]] }] },
    { legend: "When is a segment present?", fields: [
      { name: "preset", label: "Rule", kind: "select", value: "", options: RULES, aka: ["rule"] },
      { name: "presence_criterion", label: "Presence criteria", mark: "γ", unit: "", kind: "text", value: "", placeholder: "half, or 1 s", help: "Least share of an event that is noticed; several with commas. Left empty: half of an event, or a second of it.", when: (values) => values.preset === "" },
      { name: "rule", label: "Rule in words", kind: "text", value: "seconds:0.25", help: "For example seconds:0.25, coverage:0.5, shorter:0.5, joined by |.", when: (values) => values.preset === "other" }] },
  ],
  question: (values) => {
    if (!values.file) return null;
    const { preset, phase, ...rest } = values;
    const question = { ...rest, segment_length: numbers(values.segment_length), phase: phase === "0" ? 0 : "random" };
    if (values.presence_criterion) question.presence_criterion = numbers(values.presence_criterion);
    if (preset && preset !== "other") question.rule = preset;
    return question;
  },
  render: showRows,
  downloads: [{ text: "Download report", path: "api/report/evaluate" }],
};

export const simulate = {
  name: "simulate", title: "Simulate", endpoint: "api/simulate", words: (result) => sentences(result.answer),
  example: { event_length: "lognorm:s=0.5,scale=1", n_events: 10, presence_criterion: "0.3, 0.7", segment_length: "0.2, 0.4, 0.7, 1, 1.5, 2, 3, 5, 10" },
  invitation: "Draw recordings with random events, label them with fixed segments, and see how right the labels become, with standard errors.",
  groups: () => [
    { legend: "Events", fields: [
      { name: "event_length", label: "Event length", mark: "d_e", kind: "text", value: "gamma:0.8,loc=0.5", help: "Seconds, several (0.5,1,4) or a law (gamma:0.8,loc=0.5)." },
      { name: "n_events", label: "Events per recording", mark: "M", kind: "number", value: 3, slider: [1, 100], log: true, whole: true },
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
  render: showRows,
  downloads: [{ text: "Download report", path: "api/report/simulate" }],
};

/** P(present) over how much of an event a segment holds, with its band: over all classes, or the first. */
function detection(result) {
  const { label, scale } = result.detection ?? {}; // of the curves the one that shows what decides
  const shown = result.curves.filter((row) => row.label === label && row.scale === scale && row.middle > 0);
  if (shown.length < 2) return null;
  const whose = label === "all" ? "all classes together" : label;
  const fitted = (result.criteria ?? []).find((row) => row.label === label && known(row.presence_criterion));
  const title = fitted && scale === "event_fraction" ? `Annotators answer present from ${percent(fitted.presence_criterion)} of an event on` : "When a segment is labelled present";
  const picture = figure(title, `Share of segments labelled present, ${whose}; band: 95 %.${fitted && scale === "event_fraction" ? " Dotted: the presence criterion." : ""}`);
  const column = (name) => shown.map((row) => row[name]);
  const x = { event_fraction: "share of the event in the segment", coverage: "share of the segment that is event" }[scale] ?? "seconds of event in the segment";
  const marks = fitted && scale === "event_fraction" ? [{ x: fitted.presence_criterion, text: `criterion ${fitted.presence_criterion.toFixed(2)}` }] : [];
  const traces = [{ name: "labelled present", x: column("middle"), y: column("present"), labels: shown.map((row) => `${row.n.toLocaleString("en-US")} segments`), named: "%{x:,.2~g}: %{customdata[1]} present", band: [column("present_low"), column("present_high")], legend: false }];
  return { node: picture.node, draw: () => curves(picture.plot, { traces, x: { title: x, range: [0, 1.02 * Math.max(...column("middle"))] }, y: { title: "labelled present", share: true, range: [0, 1.03] }, marks, closest: true }) };
}

/** Per class: how much of the labelled time is event, how much of event time is labelled, how many events are found. */
function byClass(result) {
  const rows = (result.quality?.scores ?? []).filter((row) => row.label !== "all").sort((a, b) => a.overlap_accuracy - b.overlap_accuracy);
  if (rows.length < 2) return null;
  const most = 16, shown = rows.slice(0, most);
  const picture = figure("How good the weak labels of each class are", rows.length > most ? `The ${most} worst of ${rows.length} classes.` : "Worst first.");
  const names = ["overlap_accuracy", "precision", "event_recall"];
  return { node: picture.node, draw: () => dots(picture.plot, { names: shown.map((row) => row.label), series: names.map((name) => ({ name: words(name), values: shown.map((row) => row[name]) })) }) };
}

/** Krippendorff's alpha of each class, worst first: how far annotators agree beyond chance. */
function agreement(result) {
  const rows = (result.agreement?.by_label ?? result.annotation_agreement?.by_label ?? []).filter((row) => row.label !== "all" && Number.isFinite(row.alpha)).sort((a, b) => a.alpha - b.alpha);
  if (!rows.length) return null;
  const most = 16, shown = rows.slice(0, most);
  const picture = figure("How far annotators agree on each class (alpha)", `${rows.length > most ? `The ${most} worst of ${rows.length} classes. ` : "Worst first. "}1: always; 0: as by chance. Below 0.67 few conclusions hold.`);
  return { node: picture.node, draw: () => dots(picture.plot, { names: shown.map((row) => row.label), series: [{ name: "alpha", values: shown.map((row) => row.alpha) }], low: Math.min(0, ...shown.map((row) => row.alpha)), plain: true }) };
}

/** One word on the labels, from how many events they find and how many present labels have an event under them. */
const LIMITS = [["good", 0.9], ["fair", 0.75], ["poor", 0]];
function verdict(result) {
  const scores = result.quality?.scores ?? [], all = scores.find((row) => row.label === "all") ?? scores[0];
  if (!all || !(all.n_present > 0) || !Number.isFinite(all.event_recall)) return null;
  const right = 1 - all.n_phantom / all.n_present;
  const [word] = LIMITS.find(([, least]) => Math.min(right, all.event_recall) >= least);
  return { word, text: `${word[0].toUpperCase()}${word.slice(1)} labels: ${percent(all.event_recall)} of events are found, and ${percent(right)} of present labels have an event under them${word === "good" ? "" : " (good: 90 % of both)"}.` };
}

const SCORES = { segment_f1_1s: "segment-based F1 (1 s)", event_f1: "event-based F1", time_f1: "F1 of time", accuracy: "accuracy of time" };

/** The tables of an audit: [title, rows, columns, their heads], columns that fit chosen by hand where many are there. */
function auditTables(result) {
  const all = (rows) => (rows ?? []).filter((row) => ["all", "mean"].includes(row.label));
  const named = (rows) => rows.map((row) => ({ ...row, label: { all: "all classes", mean: "mean of classes" }[row.label] ?? row.label }));
  const perClass = (rows) => named([...(rows ?? [])].sort((a, b) => (b.label === "all") - (a.label === "all")));
  const criteria = (result.criteria ?? []).filter((row) => known(row.presence_criterion));
  const scores = result.ceiling?.scores ?? [];
  return [
    ["Quality of the weak labels", perClass(result.quality?.scores), ["label", "overlap_accuracy", "event_recall", "precision", "recall", "wrong_time"]],
    ["Presence criterion", perClass(criteria), ["label", "annotator", "method", "presence_criterion", "presence_criterion_low", "presence_criterion_high", "n"], { presence_criterion_low: "95 % from", presence_criterion_high: "to", n: "answers" }],
    ["What a perfect model scores on these labels", named(all(scores).length ? all(scores) : scores).map((row) => ({ ...row, metric: SCORES[row.metric] ?? words(row.metric) })), ["label", "metric", "perfect", "mimic", "mimic_true"], { metric: "score", perfect: "perfect model", mimic: "model that repeats the labels", mimic_true: "the same, against the events" }],
    ["Clip rules that fit", (result.rules ?? []).map((row) => ({ present: ruleWords(row.rule), ...row })), ["present", "tools", "agreement", "n"], { present: "a segment is present from", tools: "as in", n: "answers" }],
    ["How many votes are enough", result.votes], ["Agreement of the annotators", result.agreement?.by_label], ["Agreement, pair by pair", result.agreement?.by_pair],
    ["Agreement in time", result.annotation_agreement?.by_label], ["Annotators with 30 answers or more", (result.annotators ?? []).filter((row) => (row.n ?? row.n_answers ?? row.answers ?? 30) >= 30)],
    ["Labelled present, but no event is there", result.quality?.phantom, ["recording", "onset", "offset", "label"]],
    ["Labelled absent, but an event is there", result.quality?.missed, ["recording", "onset", "offset", "label", "event_seconds"], { event_seconds: "event in it (s)" }],
    ["The strong annotations", result.strong, ["label", "n_events", "n_recordings", "mean_length", "median_length", "coverage"], { n_events: "events", n_recordings: "recordings", mean_length: "mean length (s)", median_length: "median length (s)", coverage: "share of time" }],
  ].filter(([, rows]) => rows?.length);
}

export const audit = {
  name: "audit", title: "Audit", endpoint: "api/audit", words: (result) => { const said = result.findings.map((finding) => finding.text), first = verdict(result)?.text; return first ? [first, ...said] : said.length ? said : ["Nothing was found."]; },
  example: { strong: true, weak: true },
  promise: ["From how much of an event on annotators said present", "Labels with no event under them, and events that no label covers", "The score of a perfect model on these labels, and a report to keep"],
  invitation: "Send strong and weak labels of the same recordings: how sensitive were the annotators, how wrong are the weak labels, what can a perfect model reach on them?",
  groups: (panel) => [
    { legend: "Labels of the same recordings", fields: [
      fileField(panel, "strong", "Strong: events with onsets and offsets"),
      fileField(panel, "weak", "Weak: what was said of clips", { upload: "answers", onreceived: undefined, help: "Clip tables, DCASE and AudioSet weak labels, Label Studio choices." }),
      { name: "label", label: "Class", kind: "select", options: [["", "all"]] },
      { name: "unlisted", label: "A class that a clip does not list", kind: "select", value: "", options: [["", "as is usual for such files"], ["absent", "was looked for and is absent"], ["unknown", "is unknown"]] }] },
  ],
  question: (values) => (values.strong || values.weak ? values : null),
  render: async (panel, result) => {
    const pictures = [agreement(result), detection(result), byClass(result)].filter((each) => each !== null);
    panel.node.dataset.verdict = verdict(result)?.word ?? "";
    panel.notes.append(...result.notes.filter((text) => !panel.notes.textContent.includes(text)).map((text) => el("p", { class: "note", text: spoken(text[0].toUpperCase() + text.slice(1)) })));
    const made = auditTables(result).map(([caption, rows, names, heads]) => table(rows, { caption, columns: names ?? chosenColumns(rows), heads, limit: 10 }));
    panel.output.replaceChildren(...(pictures.length ? [el("div", { class: "figures" }, ...pictures.map((each) => each.node))] : []), ...made);
    await Promise.all(pictures.map((each) => each.draw()));
  },
  downloads: [{ text: "Download report", path: "api/report/audit" }],
};
