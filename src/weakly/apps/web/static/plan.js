// The tab plan: settings, the answer in words, curves, the timeline that follows the segment length, the comparison.
import { el, numbers, percent, show, spoken, svg, table, unbroken, words } from "./dom.js";
import { sliderBox } from "./fields.js";
import { bars, curves, figure, moveCursor, timeline } from "./figures.js";
import { Place, Problem, ask } from "./server.js";

const TARGETS = [["overlap_accuracy", "accuracy near events, at least"], ["event_recall", "events found, at least"], ["recording_accuracy", "accuracy of the whole recording, at least"], ["wrong_time", "wrong time per recording (s), at most"]];
const COLUMNS = ["name", "wrong_time", "event_recall", "overlap_accuracy", "n_queries", "hours", "cost"];
const NUMBERS = ["overlap_accuracy", "event_recall", "precision", "recall", "wrong_time", "n_queries", "cost"];

const groups = (panel) => [
  { legend: "Events", fields: [
    { name: "event_length", label: "Event length", mark: "d_e", kind: "text", value: "1", slider: [0.05, 60], log: true, help: "Seconds, several (0.5,1,4), a range (2-20), about 3, or a law (lognorm:s=0.5,scale=1). Or send a pilot below.", when: (values) => !values.pilot },
    { name: "pilot", label: "Pilot: annotations of a few recordings", asked: "pilot", kind: "file", help: "DCASE, Raven, Audacity, BirdNET, Label Studio, RTTM, CSV, Parquet and others.", onreceived: (received) => classes(panel, received) },
    { name: "label", label: "Class", kind: "select", options: [["", "all classes"]], when: (values) => values.pilot },
    { name: "family", label: "Law of event lengths", kind: "select", options: [["", "as observed"], ["best", "the best fit"], ["lognorm", "lognormal"], ["gamma", "gamma"], ["weibull_min", "Weibull"], ["expon", "exponential"]], when: (values) => values.pilot },
    { name: "n_events", label: "Events per recording", mark: "M", kind: "number", value: 1, slider: [0.1, 100], log: true, when: (values) => !values.pilot },
    { name: "recording_length", label: "Recording length", mark: "T", kind: "number", value: 100, slider: [1, 3600], log: true, when: (values) => !values.pilot },
    { name: "total_hours", label: "Hours to label", unit: "", kind: "number", value: "", placeholder: "one recording", help: "The whole work. Left empty: one recording, or the pilot itself." }] },
  { legend: "Annotators", fields: [
    { name: "presence_criterion", label: "Presence criterion", mark: "γ", kind: "text", value: "", placeholder: "half, or 1 s", slider: [0.01, 1], help: "Least share of an event that makes an annotator answer “present”; several (0.3, 0.5) or a law (beta:2,3). Left empty: half of an event, or a second of it.", when: (values) => !values.rule },
    { name: "rule", label: "Or a presence rule", kind: "text", value: "", placeholder: "a share of the event", help: "For long events: seconds:1, coverage:0.5, any." },
    { name: "annotators", label: "Annotators per segment", unit: "", kind: "number", value: 1, slider: [1, 9], whole: true }] },
  { legend: "Cost", fields: [
    { name: "price", label: "Priced", kind: "choice", value: "work", options: [["work", "by hours of work"], ["share", "as a share"], ["money", "per second and query"]] },
    { name: "per_hour", label: "Wage of an hour", unit: "", kind: "number", value: "", placeholder: "hours only", slider: [0, 100], when: (values) => values.price === "work" },
    { name: "seconds_per_answer", label: "Seconds per answer", unit: "", kind: "number", value: 3, slider: [0, 20], when: (values) => values.price === "work" },
    { name: "seconds_per_event", label: "Seconds to mark an event by hand", unit: "", kind: "number", value: 15, slider: [0, 120], when: (values) => values.price === "work" },
    { name: "speed", label: "Speed of hearing or viewing", unit: "", kind: "number", value: 1, slider: [0.5, 60], log: true, help: "1 for sound; EEG is viewed at about 8.", when: (values) => values.price === "work" },
    { name: "query_cost_share", label: "Cost share of a query", mark: "r", kind: "number", value: 0.5, slider: [0, 1], help: "A query costs r, a second reviewed 1 − r.", when: (values) => values.price === "share" },
    { name: "per_second", label: "Per second reviewed", unit: "", kind: "number", value: 0.005, when: (values) => values.price === "money" },
    { name: "per_query", label: "Per query", unit: "", kind: "number", value: 0.02, when: (values) => values.price === "money" },
    { name: "currency", label: "Currency", kind: "text", value: "EUR", when: (values) => values.price === "money" || (values.price === "work" && values.per_hour) }] },
  { legend: "Aim", fields: [
    { name: "objective", label: "Best is", kind: "select", value: "wrong_time", options: [["wrong_time", "little wrong time, 90 % found"], ["overlap", "the highest accuracy near events"]] },
    { name: "aim", label: "Wanted", kind: "choice", value: "best", options: [["best", "the best labels"], ["budget", "the best for a budget"], ["target", "the cheapest that reaches"]] },
    { name: "own_length", label: "Your own segment length", unit: "s", kind: "number", value: "", placeholder: "none", help: "Shown beside the others." },
    { name: "budget", label: "Budget", unit: "", kind: "number", value: 100, slider: [1, 10000], log: true, when: (values) => values.aim === "budget" },
    { name: "word", label: "Target", kind: "select", value: "overlap_accuracy", options: TARGETS, when: (values) => values.aim === "target" },
    { name: "target", label: "Value", kind: "number", value: 0.7, slider: [0.01, 1], when: (values) => values.aim === "target" }] },
];

function classes(panel, received) {
  const labels = received?.labels ?? [];
  panel.form.field("label").options([["", "all classes"], ...labels.map((each) => [each, each])]);
}

function question(values) {
  const { price, aim, word, target, ...rest } = values; // the first four are only for the form
  if (aim === "target") rest.target = `${word}${word === "wrong_time" ? "<=" : ">="}${target}`;
  if (rest.rule || !rest.presence_criterion) delete rest.presence_criterion;
  else if (!rest.presence_criterion.includes(":")) rest.presence_criterion = numbers(rest.presence_criterion);
  if (!rest.rule) delete rest.rule;
  return rest;
}

/** The parts of the answer that stay while numbers change. */
function build(panel) {
  const accuracy = figure("How long a segment should be", "Plain segments. Star: the best accuracy near events (the paper's optimum); dots: lengths people use; upright line: the length tried below.");
  const frontier = figure("What more cost buys", "Every dot is a way to label; further right costs more, lower is better. Ways that are far worse than labelling nothing are left out.");
  const costs = figure("What each way costs", "For the same work.");
  const wrong = figure("The wrong time that each way leaves", "Less is better.");
  const strip = svg("svg", { class: "timeline", role: "img" });
  const numbers = el("ul", { class: "numbers", "aria-live": "polite" });
  const drag = sliderBox({ low: 0.02, high: 60, log: true, value: 1, id: "try-length", label: "Segment length to try", onchange: () => { panel.tried = drag.box.value; panel.onsettings(); follow(panel); } });
  const meaning = { event: "event", present: "labelled present", absent: "labelled absent", wrong: "wrong label", lost: "event that is lost" };
  const key = el("p", { class: "help" }, ...Object.entries(meaning).map(([kind, text]) => el("span", { class: "legend" }, el("span", { class: `key ${kind}` }), text)));
  const step = el("input", { id: "step", type: "range", min: 0, max: 1, step: 1, value: 1, oninput: () => drawStrip(panel) });
  const stepped = el("span", { class: "help", "aria-live": "polite" });
  const reset = el("button", { type: "button", text: "Back to the plan", onclick: () => { panel.tried = ""; panel.onsettings(); drag.set(show("segment_length", panel.view.planned)); follow(panel); } });
  const error = el("p", { class: "error", role: "alert" });
  const labels = el("div", {}, el("h3", { text: "What the labels look like" }),
    el("div", { class: "drag" }, el("label", { for: "try-length", text: "Segment length (s)" }), drag.slider, drag.box, reset), error, numbers, strip, key, el("div", { class: "drag" }, el("label", { for: "step", text: "Step by step" }), step, stepped));
  const methods = el("div"), rest = el("div");
  panel.output.replaceChildren(el("div", { class: "figures" }, accuracy.node, frontier.node), labels, methods, el("div", { class: "figures" }, costs.node, wrong.node), rest);
  panel.view = { accuracy: accuracy.plot, frontier: frontier.plot, costs: costs.plot, wrong: wrong.plot, strip, numbers, drag, error, step, stepped, methods, rest, place: new Place(), planned: 1, drawn: null };
  new ResizeObserver(() => { if (panel.view.drawn) drawStrip(panel); }).observe(panel.output);
}

/** The row that is shown step by step: the recommended way, else the plain segments. */
function stepRow(panel) {
  const rows = panel.view.drawn?.rows ?? [];
  return rows.find((row) => row.name === panel.last.result.recommended.name) ?? rows.at(-1);
}

/** The timeline, with the recommended way as far as the steps are. */
function drawStrip(panel) {
  const { view } = panel, row = stepRow(panel);
  if (!row) return;
  const at = Number(view.step.value), done = at >= row.rounds.length;
  const hand = row.name.includes("by hand");
  const n = done ? 0 : row.rounds[at].segments.length;
  view.stepped.textContent = done ? `${row.name}: the labels` : hand ? `${row.name}, step ${at + 1}: ${at ? "mark what was noticed" : "review everything once"}` : `${row.name}, round ${at + 1}: ${n} ${n === 1 ? "segment is" : "segments are"} reviewed`;
  timeline(view.strip, view.drawn, done ? null : { name: row.name, at });
}

/** Asks for the labels of the length on the slider and draws them; until they come the old ones are dimmed. */
async function follow(panel) {
  const view = panel.view, shown = [view.numbers, view.strip];
  const length = Number(view.drag.box.value);
  for (const node of shown) node.classList.add("stale");
  try {
    const { result } = await view.place.run((signal) => ask("api/labels", { ...panel.last.question, segment_length: length }, { signal }));
    const currency = panel.last.result.settings.cost.currency;
    view.error.textContent = "";
    view.drawn = result.timeline;
    view.numbers.replaceChildren(...NUMBERS.map((name) => el("li", { "data-word": name }, `${words(name)} `, el("b", { text: unbroken(`${show(name, result.row[name])}${name === "wrong_time" ? " s" : name === "cost" && currency ? ` ${currency}` : ""}`) }))));
    view.strip.setAttribute("aria-label", `Labels that ${show("segment_length", length)} s segments give ${result.timeline.events.length} events`);
    view.step.max = stepRow(panel)?.rounds.length ?? 0;
    view.step.value = view.step.max;
    drawStrip(panel);
    moveCursor(view.accuracy, length);
    for (const node of shown) node.classList.remove("stale");
  } catch (problem) {
    if (problem.name === "AbortError") return;
    if (!(problem instanceof Problem)) throw problem;
    view.error.textContent = problem.message;
    view.drawn = null;
    for (const node of shown) node.replaceChildren();
  }
}

const METHODS = { fixed: ["plain segments", 0], bisection: ["halving", 1], windows: ["overlapping windows", 2] };
const isPaper = (row) => row.note.includes("Theorem 2");

/** Of these lengths, those far enough from the one before to carry a name on a log axis. */
const apart = (lengths, by) => [...lengths].sort((a, b) => b - a).reduce((kept, each) => (kept.length && kept.at(-1) < by * each ? kept : [...kept, each]), []);

async function drawCurve(node, result, cursor) {
  const x = result.curve.map((row) => row.segment_length);
  const line = (word, name, colour, dash) => ({
    name, x, y: result.curve.map((row) => row[word]), colour, dash,
    band: result.curve[0]?.[`${word}_low`] === undefined ? null : ["low", "high"].map((end) => result.curve.map((row) => row[`${word}_${end}`])),
  });
  const inside = (length) => length >= x[0] && length <= x.at(-1);
  const usual = result.rows.filter((row) => row.method === "fixed" && !isPaper(row) && inside(row.segment_length));
  const best = result.rows.find(isPaper);
  const traces = [line("overlap_accuracy", "accuracy near events", 0, "solid"), line("event_recall", "events found", 2, "dash")];
  if (best) traces.push({ name: "best accuracy near events", x: [best.segment_length], y: [best.overlap_accuracy], texts: [`${show("segment_length", best.segment_length)} s, ${percent(best.overlap_accuracy)}`], where: "top right", points: true, colour: 0, symbol: "star", size: 14, legend: false });
  traces.push({ name: "lengths people use", x: usual.map((row) => row.segment_length), y: usual.map((row) => row.overlap_accuracy), points: true, colour: 0, legend: false });
  await curves(node, { traces, x: { title: "segment length (s)", log: true }, y: { title: "share", share: true, range: [0, 1.03] }, marks: apart(usual.map((row) => row.segment_length), node.clientWidth < 480 ? 2.5 : 1.5).map((length) => ({ x: length, text: `${show("", length)} s` })), cursor });
}

async function drawFrontier(node, result) {
  const word = result.objective === "overlap" ? "overlap_accuracy" : "wrong_time";
  const chosen = result.recommended, nothing = result.rows.find((row) => row.method === "nothing");
  // Ways that are worse than labelling nothing would press all others to the floor.
  const top = 1.2 * Math.max(chosen.wrong_time, nothing?.wrong_time ?? 0);
  const rows = result.frontier.filter((row) => row[word] !== null && row.cost > 0 && (word !== "wrong_time" || row.wrong_time <= top));
  const named = `cost %{x:,.3~g}${result.settings.cost.currency ? ` ${result.settings.cost.currency}` : ""}, ${word === "wrong_time" ? "wrong time %{y:,.3~g} s" : "accuracy near events %{customdata[1]}"}`;
  const most = 4 * Math.max(chosen.cost, ...result.rows.filter((row) => row.method === "windows").map((row) => row.cost));
  const traces = Object.entries(METHODS).map(([method, [name, colour]]) => {
    const part = rows.filter((row) => row.method === method && row.cost <= most && (word !== "overlap_accuracy" || method !== "windows"));
    return { name, x: part.map((row) => row.cost), y: part.map((row) => row[word]), labels: part.map((row) => row.name), named, points: true, size: 5, clip: true, colour };
  }).filter((trace) => trace.x.length);
  const front = rows.filter((row) => row.on_frontier && row.cost <= most).sort((a, b) => a.cost - b.cost);
  if (front.length > 1) traces.unshift({ name: "best for the cost", x: front.map((row) => row.cost), y: front.map((row) => row[word]), colour: 4, dash: "solid" });
  traces.push({ name: "recommended", x: [chosen.cost], y: [chosen[word]], texts: ["recommended"], where: "middle right", labels: [`recommended: ${chosen.name}`], named, points: true, size: 15, symbol: "star", colour: 3, legend: false });
  const paper = result.rows.find(isPaper);
  if (paper && (word !== "wrong_time" || paper.wrong_time <= top)) traces.push({ name: "the paper's optimum", x: [paper.cost], y: [paper[word]], texts: paper.name === chosen.name ? null : ["the paper's optimum"], where: "bottom center", labels: [paper.name], named, points: true, size: 10, symbol: "diamond", colour: 0, legend: false });
  const ends = [Math.min, Math.max].map((end) => end(...traces.flatMap((trace) => trace.x)));
  if (nothing && word === "wrong_time") {
    traces.push({ name: "label nothing", x: ends, y: [nothing.wrong_time, nothing.wrong_time], colour: 6, dash: "dot", legend: false, quiet: true });
    // Its name stands clear below the line, at the end where few dots are.
    traces.push({ name: "label nothing", x: [ends[0]], y: [nothing.wrong_time - 0.05 * top], texts: ["label nothing"], where: "middle right", points: true, size: 0.1, colour: 6, legend: false, quiet: true });
  }
  const unit = result.settings.cost.currency;
  await curves(node, { traces, x: { title: `cost${unit ? ` (${unit})` : ""}`, log: true }, y: word === "wrong_time" ? { title: "wrong time (s)", range: [-0.03 * top, 1.08 * top] } : { title: "accuracy near events", share: true, range: [0, 1.03] }, closest: true });
}

async function render(panel, result) {
  if (!panel.view) build(panel);
  const view = panel.view;
  panel.notes.append(...result.warnings.map((text) => el("p", { class: "note", text: spoken(text) })));
  // A plan of several passes has no one length; the plain segments it is compared with have.
  view.planned = result.recommended.segment_length ?? result.rows.find((row) => row.method === "fixed")?.segment_length ?? result.curve[0].segment_length;
  view.drag.set(panel.tried || show("segment_length", view.planned));
  view.methods.replaceChildren(table(result.rows, { columns: COLUMNS.filter((name) => name !== "cost" || result.settings.cost.currency !== "h"), caption: "The ways to label, on the same work", heads: { name: "way to label", wrong_time: "wrong time (s)", cost: `cost${result.settings.cost.currency ? ` (${result.settings.cost.currency})` : ""}` }, limit: 15, chosen: (row) => row.name === result.recommended.name }),
    el("p", { class: "help", text: "Wrong time: seconds per recording. Clips to play, hours of work and cost: the whole work. The oracle knows the events; it is a limit, not a method." }));
  const parts = [];
  if (result.classes?.per_class?.length) parts.push(el("h3", { text: "Several classes" }), el("p", { text: result.classes.words }), table(result.classes.per_class, { caption: "Each class by itself", columns: ["label", "n_events", "segment_length", "wrong_time", "event_recall", "overlap_accuracy"] }));
  parts.push(el("h3", { text: "The recommendation in detail" }), el("p", { text: spoken(result.details) }));
  if (result.uncertainty?.words && !result.details.includes(result.uncertainty.words)) parts.push(el("h3", { text: "How sure is this?" }), el("p", { text: result.uncertainty.words }));
  parts.push(table(result.sensitivity, { columns: ["presence_criterion", "wrong_time", "event_recall", "overlap_accuracy", "best_segment_length", "best_wrong_time"], heads: { best_segment_length: "best length (s)", best_wrong_time: "its wrong time (s)" }, caption: "If the presence criterion is another: the recommended way, and the best length", chosen: (row) => result.settings.presence_criterion?.length === 1 && row.presence_criterion === result.settings.presence_criterion[0] }));
  parts.push(el("h3", { text: "What this rests on" }), el("ul", {}, ...result.assumptions.map((text) => el("li", { text: spoken(text) }))));
  view.rest.replaceChildren(...parts);
  const labels = follow(panel);
  const asked = result.rows.filter((row) => row.cost > 0);
  await Promise.all([
    drawCurve(view.accuracy, result, Number(view.drag.box.value)), drawFrontier(view.frontier, result),
    bars(view.costs, { names: asked.map((row) => row.name), values: asked.map((row) => row.cost), title: `cost${result.settings.cost.currency ? ` (${result.settings.cost.currency})` : ""}`, chosen: result.recommended.name, texts: asked.map((row) => show("cost", row.cost)) }),
    bars(view.wrong, { names: asked.map((row) => row.name), values: asked.map((row) => row.wrong_time), title: "wrong time (s)", chosen: result.recommended.name, texts: asked.map((row) => show("wrong_time", row.wrong_time)) }), labels,
  ]);
}

export const plan = {
  name: "plan", title: "Plan", endpoint: "api/plan", wait: 60, invitation: "…", groups, question, render,
  words: (result) => [...result.answer.split("\n"), result.assumed],
  example: { pilot: true, presence_criterion: "0.4", total_hours: 20, per_hour: 20 },
  downloads: [
    { text: "Download report", path: "api/report/plan" },
    { text: "Clips to play as CSV (zip)", path: "api/queries", more: (panel) => ({ segment_length: Number(panel.view.drag.box.value), to: "csv" }) },
    { text: "Clips for Label Studio (zip)", path: "api/queries", more: (panel) => ({ segment_length: Number(panel.view.drag.box.value), to: "labelstudio" }) },
  ],
};
