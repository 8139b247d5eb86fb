// What the owner sees: how far everybody is, how they agree, and the button that writes everything.
import { percent, el, table } from "./dom.js";
import { $, complain, me, now } from "./state.js";
import { json } from "./wire.js";

export async function owner() {
  $("owner").hidden = false;
  const team = await json("team");
  const alpha = team.alpha === null ? "" : `, Krippendorff's alpha ${team.alpha.toFixed(3)}`;
  const agree = team.annotators.length < 2 ? "" : team.agreement === null ? "No segment has two sure answers yet."
    : `Two people agree on ${percent(team.agreement)} of ${team.compared} pairs of answers${alpha}.`;
  $("agreement").textContent = `${team.settled} of ${team.queries} segments are answered. ${agree}`;
  $("team").replaceChildren(table(team.annotators, { caption: "Who answered what" }));
  if (team.bookmarks.length) $("team").append(table(team.bookmarks, { caption: "Bookmarks" }));
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
