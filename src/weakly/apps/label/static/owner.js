// What the owner sees: how far everybody is, how they agree, who is odd, what splits them, and the last button.
import { el, percent, svg, table } from "./dom.js";
import { $, complain, me, now } from "./state.js";
import { call, json } from "./wire.js";

const WIDE = 420; // of the picture of agreement, in its own units
const ROW = 24;

/** Each annotator's agreement with the others: a dot with its interval. */
function dots(people) {
  const known = people.filter((each) => each.agreement !== undefined);
  if (known.length < 2) return null;
  const least = Math.min(0.5, ...known.map((each) => each.agreement_low));
  const x = (share) => 130 + ((share - least) / (1 - least)) * (WIDE - 150);
  const height = ROW * known.length + 26;
  const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${height}`, class: "dots", role: "img", "aria-label": "Agreement of each annotator with the others, with 95 % intervals; the same numbers are in the table" });
  for (const share of [least, (least + 1) / 2, 1]) {
    picture.append(svg("line", { x1: x(share), x2: x(share), y1: 0, y2: height - 20, class: "grid" }));
    picture.append(svg("text", { x: x(share), y: height - 5, "text-anchor": "middle", class: "soft" }, percent(share)));
  }
  known.forEach((each, k) => {
    const y = ROW * (k + 0.5);
    const kind = each.odd ? "odd" : "fine";
    picture.append(svg("text", { x: 122, y: y + 4, "text-anchor": "end", class: kind }, each.annotator.length > 16 ? `${each.annotator.slice(0, 15)}…` : each.annotator));
    picture.append(svg("line", { x1: x(each.agreement_low), x2: x(each.agreement_high), y1: y, y2: y, class: kind }));
    picture.append(svg("circle", { cx: x(each.agreement), cy: y, r: 5, class: kind }));
  });
  return el("figure", {}, el("figcaption", { text: "Agreement with the others" }), picture);
}

/** Pause, let go on, or withdraw. */
function members(links) {
  const button = (annotator, state, text) => el("button", {
    type: "button", text, "aria-label": `${text} ${annotator}`,
    onclick: () => json("member", { annotator, state }).then(show).catch(complain),
  });
  return el("ul", { class: "members" }, ...Object.entries(links).map(([name, state]) => el("li", {}, el("span", { text: `${name}: ${state}` }),
    ...(state === "withdrawn" ? [] : [state === "paused" ? button(name, "working", "Let go on") : button(name, "paused", "Pause"), button(name, "withdrawn", "Withdraw")]))));
}

let sound = null;

/** The segments that split people, each to be seen and heard. */
function splits(rows) {
  const hear = async (row, place) => {
    sound?.pause();
    if (row.kind === "video") {
      place.replaceChildren(el("video", { src: `api/1/${row.video}#t=${row.onset},${row.offset}`, controls: true, playsinline: true }));
      return place.firstChild.play();
    }
    const media = async (kind) => URL.createObjectURL(await (await call(`${kind}/${row.query}`)).blob());
    place.replaceChildren(el("img", { src: await media("picture"), alt: `${row.kind === "sound" ? "Spectrogram" : "Traces"} of the segment` }));
    if (row.kind !== "sound") return null;
    sound = new Audio(await media("sound"));
    return sound.play();
  };
  return el("ol", { class: "splits" }, ...rows.map((row) => {
    const place = el("div");
    const text = `${row.recording}, ${Number(row.onset.toFixed(2))} to ${Number(row.offset.toFixed(2))} s, ${row.label}: ${row.present} present, ${row.absent} absent`;
    return el("li", {}, el("button", { type: "button", text: `▶ ${text}`, onclick: () => hear(row, place).catch(complain) }), place);
  }));
}

function show(team) {
  const alpha = team.alpha === null ? "" : `, Krippendorff's alpha ${team.alpha.toFixed(3)}`;
  const agree = team.annotators.length < 2 ? "" : team.agreement === null ? "No segment has two sure answers yet."
    : `Two people agree on ${percent(team.agreement)} of ${team.compared} pairs of answers${alpha}.`;
  const waits = team.annotators.some((each) => each.left); // else a method that follows the answers needs no more of them
  $("agreement").textContent = `${team.settled}${waits ? ` of ${team.queries}` : ""} segments are answered. ${agree}`;
  $("odd").replaceChildren(...team.odd.map((text) => el("p", { class: "note", text: `${text}.` })));
  const columns = ["annotator", "answers", "present", "absent", "unsure", "seconds_per_query", "left", "agreement", "compared", "lapse_rate"];
  const rows = team.annotators.map((each) => Object.fromEntries(columns.map((name) => [name, each[name] ?? null])));
  $("team").replaceChildren(...[
    dots(team.annotators),
    table(rows, { caption: "Who answered what", columns, every: false, heads: { seconds_per_query: "seconds each", lapse_rate: "misses", compared: "segments compared" } }),
    team.classes.length ? table(team.classes, { caption: "Agreement by class", every: false }) : null,
  ].filter(Boolean));
  if (team.bookmarks.length) $("team").append(table(team.bookmarks, { caption: "Bookmarks", columns: ["recording", "onset", "offset", "label", "annotator", "note"], every: false }));
  const isNew = JSON.stringify(team.splits) !== now.splits; // what is open to hear stays open
  if (isNew) $("splits").replaceChildren(...(team.splits.length ? [el("h3", { text: "Segments that split people" }), splits(team.splits)] : []));
  now.splits = JSON.stringify(team.splits);
  if (JSON.stringify(team.links) !== now.links) $("members").replaceChildren(...(Object.keys(team.links).length ? [el("h3", { text: "Links" }), members(team.links)] : []));
  now.links = JSON.stringify(team.links);
}

export async function owner() {
  $("owner").hidden = false;
  const team = await json("team");
  show(team);
  if (now.told !== team.answers && team.answers && !me.measuring) {
    now.told = team.answers;
    const { sentences } = await json("live");
    $("quality").replaceChildren(...sentences.map((text) => el("p", { text })));
  }
}

export async function write() {
  $("export").disabled = true;
  try {
    const { folder, files } = await json("export", {});
    const plan = me.measuring && files.length === 1 ? `; weakly plan --annotator ${folder}/${files[0]} plans for you` : "";
    $("written").textContent = `Wrote ${files.join(", ")} in ${folder}${plan}.`;
  } catch (error) {
    complain(error);
  }
  $("export").disabled = false;
}
$("export").addEventListener("click", write);
