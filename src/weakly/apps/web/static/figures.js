// Pictures: plotly for curves, plain SVG for the timeline. Colours follow the page, light or dark.
import { el, percent, svg, unbroken } from "./dom.js";

const PALETTE = { light: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"], dark: ["#56B4E9", "#f08a3c", "#2fc79b", "#e39bc4", "#f0c04a", "#8ecdf5", "#e6edf3"] };
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const drawn = new Map(); // node -> function that draws it again
let paper = false; // whether the page is being printed: light, and as wide as a sheet

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Plotly reads a little HTML in texts; labels from files must stay what they are.
const literal = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Ticks at 1, 2 and 5 times powers of ten, or fewer if that is too many. */
function ticks(values) {
  const known = values.filter((value) => value > 0);
  const low = Math.min(...known), high = Math.max(...known);
  const powers = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) powers.push(k);
  const steps = Math.log10(high / low) > 2.6 ? [1] : [1, 2, 5];
  const tickvals = powers.flatMap((k) => steps.map((step) => Number(`${step}e${k}`))).filter((value) => value >= low / 1.05 && value <= high * 1.05);
  return { tickmode: "array", tickvals, ticktext: tickvals.map((value) => value.toLocaleString("en-US", { maximumSignificantDigits: 2 })) };
}

const TENTHS = [0, 0.2, 0.4, 0.6, 0.8, 1];
const SHARES = { tickmode: "array", tickvals: TENTHS, ticktext: TENTHS.map((each) => percent(each)) };

function axis(title, { log = false, share = false, zero = false } = {}, values = []) {
  return {
    title: { text: literal(title), standoff: 8 }, type: log ? "log" : "linear", gridcolor: css("--line"), linecolor: css("--soft"), zeroline: false,
    automargin: true, separatethousands: true, exponentformat: "none", rangemode: zero ? "tozero" : "normal", ...(log ? ticks(values) : {}), ...(share ? SHARES : {}),
  };
}

/** Above the picture, or below it in small print where it would take most of a narrow one. */
const isNarrow = (node) => node.clientWidth < 430;
const legend = (node) => (paper || isNarrow(node) ? { orientation: "h", y: -0.25, yanchor: "top", x: 0, font: { size: 10 } } : { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 });

function draw(node, make) {
  drawn.set(node, make);
  node.classList.toggle("narrow", isNarrow(node));
  const { data, layout } = make(PALETTE[dark.matches && !paper ? "dark" : "light"]);
  const common = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: css("--ink"), family: "system-ui, sans-serif", size: 13 },
    margin: { l: 55, r: 15, t: 10, b: 45 }, legend: legend(node), hovermode: "x unified", hoverlabel: { bgcolor: css("--card"), font: { color: css("--ink") } },
  };
  return window.Plotly.react(node, data, { ...common, ...layout, ...(paper ? { width: node.closest(".figures") ? 340 : 690, height: parseInt(node.style.height, 10) || 280 } : {}) }, { responsive: true, displaylogo: false, displayModeBar: false });
}

function redraw(which = () => true) {
  for (const [node, make] of drawn) {
    if (!node.isConnected) drawn.delete(node);
    else if (node.clientWidth && which(node)) draw(node, make);
  }
}

dark.addEventListener("change", () => redraw());
window.addEventListener("resize", () => redraw((node) => isNarrow(node) !== node.classList.contains("narrow")));
window.addEventListener("beforeprint", () => { paper = true; document.documentElement.classList.add("paper"); redraw(); });
window.addEventListener("afterprint", () => { paper = false; document.documentElement.classList.remove("paper"); redraw(); });

/** Curves y over x. traces: {name, x, y, dash, points, dotted, band: [low, high], texts, where, labels, named: a template of what is shown when pointed at, y as a share in customdata[1]}; marks: {x, text}; cursor: x. */
export function curves(node, { traces, x, y, marks = [], cursor = null, closest = false }) {
  return draw(node, (colours) => {
    const data = [];
    traces.forEach((trace, k) => {
      const colour = colours[(trace.colour ?? k) % colours.length];
      if (trace.band) {
        const [low, high] = trace.band;
        data.push({ x: [...trace.x, ...[...trace.x].reverse()], y: [...high, ...[...low].reverse()], mode: "lines", fill: "toself", fillcolor: colour, opacity: 0.15, line: { width: 0 }, hoverinfo: "skip", showlegend: false });
      }
      data.push({
        x: trace.x, y: trace.y, name: literal(trace.name), mode: `${trace.points ? "markers" : trace.dotted ? "lines+markers" : "lines"}${trace.texts ? "+text" : ""}`, hovertemplate: trace.named ? `%{customdata[0]}<br>${trace.named}<extra></extra>` : undefined, hoverinfo: trace.quiet ? "skip" : undefined,
        text: trace.texts?.map(literal), customdata: trace.labels?.map((label, at) => [literal(label), percent(trace.y[at])]), textposition: trace.where ?? "top center", cliponaxis: trace.clip ?? false, textfont: { size: 11 },
        line: { color: trace.grey ? css("--soft") : colour, width: trace.grey ? 0.8 : 2.5, dash: trace.dash }, opacity: trace.grey ? 0.45 : 1, marker: { color: colour, size: trace.size ?? (trace.dotted ? 5 : 9), symbol: trace.symbol ?? "circle" }, showlegend: trace.legend ?? true,
      });
    });
    const place = (value) => (x.log ? Math.log10(value) : value);
    const rule = (value, dash, colour, width) => ({ type: "line", xref: "x", yref: "paper", x0: value, x1: value, y0: 0, y1: 1, line: { color: colour, width, dash } });
    const shapes = marks.map((mark) => rule(mark.x, "dot", css("--soft"), 1));
    if (cursor !== null) shapes.push(rule(cursor, "solid", css("--accent"), 2));
    const annotations = marks.map((mark) => ({ x: place(mark.x), y: 0, xref: "x", yref: "paper", text: literal(mark.text), showarrow: false, yanchor: "bottom", xanchor: "left", font: { size: 11, color: css("--soft") } }));
    return { data, layout: { xaxis: { ...axis(x.title, x, traces.flatMap((trace) => trace.x)), range: x.range }, yaxis: { ...axis(y.title, y), range: y.range }, shapes, annotations, hovermode: closest ? "closest" : "x unified" } };
  });
}

/** Bars, one per name, in the order given from top to bottom; `chosen` has its own colour. */
export function bars(node, { names, values, title, chosen = null, texts = null }) {
  rowed(node, names);
  return draw(node, (colours) => ({
    data: [{ type: "bar", orientation: "h", x: values, y: names.map((name, k) => k), text: texts?.map(literal) ?? undefined, textposition: "outside", cliponaxis: false, customdata: names.map(literal), hovertemplate: `%{customdata}<br>${literal(title)} %{x:,.3~g}<extra></extra>`, marker: { color: names.map((name) => (name === chosen ? colours[0] : colours[5])) } }],
    layout: { hovermode: "closest", xaxis: { ...axis(title), range: [0, (paper || isNarrow(node) ? 1.4 : 1.15) * Math.max(...values)] }, yaxis: { automargin: true, range: [names.length - 0.4, -0.6], tickmode: "array", tickvals: names.map((name, k) => k), ticktext: names.map((name) => literal(short(name))), tickfont: { size: 11 } }, margin: { l: 10, r: 15, t: 10, b: 45 } },
  }));
}

/** Dots in rows, one row per name from top to bottom, one colour and shape per series; shares from 0 to 1. */
export function dots(node, { names, series, low = 0, plain = false }) {
  const shapes = ["circle", "diamond", "square", "triangle-up"];
  rowed(node, names);
  return draw(node, (colours) => ({
    data: series.map((each, k) => ({ type: "scatter", mode: "markers", name: literal(each.name), x: each.values, y: names.map((name, row) => row), customdata: names.map((name, row) => [literal(name), plain ? each.values[row].toFixed(2) : percent(each.values[row])]), hovertemplate: `%{customdata[0]}<br>${literal(each.name)} %{customdata[1]}<extra></extra>`, marker: { color: colours[k], symbol: shapes[k], size: 9 }, cliponaxis: false })),
    layout: { hovermode: "closest", xaxis: { ...axis("", { share: !plain }), range: [low - 0.02, 1.02] }, yaxis: { automargin: true, range: [names.length - 0.5, -0.5], tickmode: "array", tickvals: names.map((name, k) => k), ticktext: names.map((name) => literal(short(name))), tickfont: { size: 11 }, gridcolor: css("--line"), zeroline: false }, margin: { l: 10, r: 15, t: 10, b: 45 } },
  }));
}

const short = (name) => (name.length > 34 ? `${name.slice(0, 33)}…` : name);

/** As high as its rows need. */
const rowed = (node, names) => { node.style.height = `${Math.max(200, 80 + 24 * names.length)}px`; };

export function moveCursor(node, x) {
  if (!node.layout) return;
  const shapes = node.layout.shapes ?? [];
  const last = shapes.length - 1;
  if (last < 0) return;
  window.Plotly.relayout(node, { [`shapes[${last}].x0`]: x, [`shapes[${last}].x1`]: x });
}

/** A picture with its title above and, below, what to see in it. */
export function figure(title, caption = "") {
  const plot = el("div", { class: "plot", role: "img", "aria-label": `${title}. ${caption}` });
  return { plot, node: el("figure", {}, el("h3", { text: unbroken(title) }), plot, caption ? el("figcaption", { text: caption }) : null) };
}

/** Events above, one row of labelled segments per way below; wrong time is marked under each row, lost events are hollow. `step`: {name, at} shows one row as it is after so many rounds. */
export function timeline(node, { recording_length: total, events, rows }, step = null) {
  const width = Math.max(320, node.clientWidth || 800);
  // On a phone names stand above their strips, elsewhere before them, with room for the longest.
  const above = width < 600 ? 20 : 0, longest = Math.max(...rows.map((each) => each.name.length), 6);
  const left = above ? 8 : Math.min(280, Math.max(150, 7.2 * longest + 12));
  const right = 8, row = 40 + above, bar = 20;
  const height = 30 + (rows.length + 1) * row;
  const at = (time) => left + ((width - left - right) * time) / total;
  const parts = [];
  const title = (text, y) => parts.push(svg("text", { x: 0, y: y + 15 }, text));
  const block = (kind, [a, b], y, high, edge = "") => parts.push(svg("rect", { class: `${kind} ${edge}`, x: at(a).toFixed(2), y, width: Math.max(0.6, at(b) - at(a)).toFixed(2), height: high }));
  title("events", 4);
  parts.push(svg("line", { class: "base", x1: left, x2: width - right, y1: 4 + above + bar, y2: 4 + above + bar }));
  events.forEach((event) => block("event", event, 4 + above, bar));
  rows.forEach((each, k) => {
    title(each.name, 4 + (k + 1) * row);
    const y = 4 + above + (k + 1) * row;
    const round = step !== null && step.name === each.name ? each.rounds[step.at] : undefined;
    if (round) {
      each.rounds.slice(0, step.at).forEach((past) => past.segments.forEach((segment, i) => block(past.present[i] ? "present faint" : "absent faint", segment, y, bar, "edge")));
      round.segments.forEach((segment, i) => block(round.present[i] ? "present" : "absent", segment, y, bar, "edge asked"));
      return;
    }
    each.segments.forEach((segment, i) => block(each.present[i] ? "present" : "absent", segment, y, bar, "edge"));
    each.wrong.forEach((stretch) => block("wrong", stretch, y + bar + 2, 6));
    (each.lost ?? []).forEach((event) => block("lost", event, y + 2, bar - 4));
  });
  const foot = height - 8;
  const tick = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((size) => total / size <= width / 70) ?? total / 5;
  for (let time = 0; time <= total * (1 + 1e-9); time += tick) parts.push(svg("text", { class: "tick", x: Math.min(at(time), width - 14), y: foot, "text-anchor": "middle" }, `${Number(time.toPrecision(4))}${above ? " s" : ""}`));
  if (!above) parts.push(svg("text", { class: "tick", x: 0, y: foot }, "time (s)"));
  node.setAttribute("viewBox", `0 0 ${width} ${height}`);
  node.setAttribute("height", height);
  node.replaceChildren(...parts);
}

/** A small timeline: one lost event above the segments around it. */
export function glimpse({ recording, label, event, segments }) {
  const width = 300, low = segments[0][0], high = segments.at(-1)[1];
  const at = (time) => (width * (time - low)) / (high - low);
  const block = (kind, [a, b], y) => svg("rect", { class: kind, x: at(a).toFixed(2), y, width: Math.max(0.8, at(b) - at(a)).toFixed(2), height: 14 });
  const node = svg("svg", { class: "timeline", role: "img", viewBox: `0 0 ${width} 34`, "aria-label": `${label} in ${recording}, lost` });
  node.append(block("lost", event, 1), ...segments.map((segment) => block("absent edge", segment, 18)));
  const seconds = event.map((time) => time.toLocaleString("en-US", { maximumFractionDigits: 2 }));
  return el("figure", { class: "glimpse" }, node, el("figcaption", { text: `${label}: ${seconds[0]} to ${seconds[1]} s of ${recording}` }));
}

/** Small curves of the same quantity, one per class, with the same axes; the best length is a dot. */
export function multiples(groups, { word, most = 12 }) {
  const width = 180, height = 86, left = 4, top = 6, foot = 68;
  const lengths = groups.flatMap(([, rows]) => rows.map((row) => row.segment_length));
  const [low, high] = [Math.log(Math.min(...lengths)), Math.log(Math.max(...lengths))];
  const x = (row) => left + ((width - 2 * left) * (Math.log(row.segment_length) - low)) / (high - low || 1);
  const y = (row) => foot - (foot - top) * row[word];
  const best = (rows) => rows.reduce((kept, row) => (row[word] > kept[word] ? row : kept), rows[0]);
  const one = ([name, rows]) => {
    const mark = best(rows);
    const node = svg("svg", { class: "multiple", role: "img", viewBox: `0 0 ${width} ${height}`, "aria-label": `${name}: best ${percent(mark[word])} at ${mark.segment_length} s` });
    node.append(...[0, 0.5, 1].map((share) => svg("line", { class: "base", x1: left, x2: width - left, y1: foot - (foot - top) * share, y2: foot - (foot - top) * share })),
      svg("polyline", { points: rows.map((row) => `${x(row).toFixed(1)},${y(row).toFixed(1)}`).join(" ") }), svg("circle", { cx: x(mark), cy: y(mark), r: 3.5 }),
      svg("text", { x: left, y: height - 4 }, unbroken(`${percent(mark[word])} at ${mark.segment_length} s`)));
    return el("figure", {}, el("figcaption", { text: short(name), title: name }), node);
  };
  const sorted = groups.filter(([, rows]) => rows.every((row) => Number.isFinite(row[word]))).sort((a, b) => best(a[1])[word] - best(b[1])[word]);
  const grid = el("div", { class: "multiples" }, ...sorted.slice(0, most).map(one));
  const rest = sorted.slice(most);
  const more = rest.length ? el("button", { type: "button", text: `Show all ${sorted.length} classes`, onclick: () => { grid.append(...rest.map(one)); more.remove(); } }) : null;
  return el("div", {}, el("h3", { text: "Accuracy near events of each class, worst first" }), el("p", { class: "help", text: "The same axes everywhere: segment length from short to long, 0 to 100 %. Dot: the best length." }), grid, more);
}
