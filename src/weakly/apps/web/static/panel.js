// One tab: a form on the left, the answer on the right. What is shown always belongs to the form beside it: while a new
// answer is on its way the old one is dimmed, and where there is none, because of an error or a cancelled question, the
// page says so in its place.
import { el, save, spoken, toast, unbroken, vocabulary, words } from "./dom.js";
import { Form } from "./fields.js";
import { named } from "./names.js";
import { Place, Problem, ask, fetchFile } from "./server.js";

const FEW = 4; // sentences below the answer that are read at once

/** An answer with what to do set apart from the numbers that follow it. */
function emphasised(text) {
  const at = text.search(/: (?=\d)/);
  return at < 0 ? [text] : [el("strong", { text: text.slice(0, at + 1) }), text.slice(at + 1)];
}

export class Panel {
  /** spec: {name, title, invitation, endpoint, wait, groups, question(values), render(panel, result), example(panel), downloads, tried} */
  constructor(spec, symbols, onsettings) {
    Object.assign(this, { spec, name: spec.name, onsettings });
    this.place = new Place();
    this.last = null;
    this.tried = ""; // what the plan's own slider was moved to; part of the link
    this.form = new Form(spec.groups(this), symbols, () => this.changed(), spec.name);
    this.answer = el("p", { class: "answer", id: `answer-${spec.name}`, "aria-live": "polite", tabindex: "-1" });
    this.more = el("div", {});
    this.notes = el("div", { class: "notes", "aria-live": "polite" });
    this.bar = el("progress", { "aria-label": "Progress" });
    this.spent = el("span", { class: "help" });
    this.working = el("div", { class: "working", hidden: true }, el("span", { class: "spinner", "aria-hidden": "true" }), this.bar, this.spent, el("button", { type: "button", text: "Cancel", onclick: () => this.cancel() }));
    const button = (text, work) => { const made = el("button", { type: "button", text, onclick: () => work(made) }); return made; };
    this.again = el("div", { class: "buttons", hidden: true }, button("Ask again", () => this.run()));
    this.invite = el("div", { class: "buttons", hidden: true }, el("button", { type: "button", class: "main", text: "Try the example", onclick: () => this.example() }));
    this.files = el("div", { class: "buttons files" }, button("Download JSON", () => save(`${spec.name}.json`, JSON.stringify(this.last.result, null, 2), "application/json")),
      ...(spec.downloads ?? []).map(({ text, path, more }) => button(text, (made) => this.download(path, more?.(this) ?? {}, made))));
    this.asked = el("p", { class: "asked" });
    this.output = el("div", { class: "results" });
    this.below = el("div", { class: "output", hidden: true }, this.files, this.output);
    const example = el("button", { type: "button", class: "example", text: "Try the example", onclick: () => { this.example(); this.node.classList.remove("opened"); } });
    this.form.node.prepend(example);
    this.form.node.addEventListener("submit", () => this.run());
    // On a phone the settings fold away once there is an answer, and stay open for whoever works with them.
    this.form.node.addEventListener("focusin", (event) => { if (event.target !== example) this.node.classList.add("opened"); });
    this.fold = el("button", { type: "button", class: "fold", text: "Settings", "aria-controls": `form-${spec.name}`, onclick: () => this.node.classList.toggle("opened") });
    this.form.node.id = `form-${spec.name}`;
    this.node = el("section", { class: "panel", role: "tabpanel", id: `panel-${spec.name}`, "aria-labelledby": `tab-${spec.name}`, hidden: true },
      el("div", { class: "head" }, el("h2", { class: "quiet", text: spec.title }), el("div", { class: "card" }, this.answer, this.more, this.again, this.invite), this.working, this.notes, this.asked, this.fold), this.form.node, this.below);
    this.node.addEventListener("dragover", (event) => { event.preventDefault(); this.node.classList.add("over"); });
    this.node.addEventListener("dragleave", () => this.node.classList.remove("over"));
    this.node.addEventListener("drop", (event) => this.drop(event));
    // On paper nothing waits behind a click.
    for (const [when, open] of [["beforeprint", true], ["afterprint", false]]) window.addEventListener(when, () => { for (const each of this.node.querySelectorAll("details.rest, details.folded")) each.open = open; });
    this.say("empty", spec.invitation, spec.promise);
  }

  /** What the card says, and how it stands to the form: empty, waiting, answered, problem or cancelled. */
  say(state, text = null, more = []) {
    this.node.dataset.state = state;
    const old = state === "waiting";
    if (text !== null) {
      const list = (texts) => el("ul", { class: "more" }, ...texts.map((each) => el("li", { text: unbroken(each) })));
      const rest = more.slice(more.length > FEW + 2 ? FEW : more.length);
      this.answer.replaceChildren(...emphasised(unbroken(text)));
      this.more.replaceChildren(list(more.slice(0, more.length - rest.length)), ...(rest.length ? [el("details", { class: "rest" }, el("summary", { text: `${rest.length} more findings` }), list(rest))] : []));
    }
    this.node.setAttribute("aria-busy", old);
    this.below.inert = old;
    if (!old) this.rest();
    if (!old && state !== "answered") {
      this.below.hidden = true; // what stood there answered another question
      this.notes.replaceChildren();
      this.asked.textContent = "";
    }
    this.again.hidden = state !== "cancelled";
    this.invite.hidden = state !== "empty";
  }

  rest() {
    clearTimeout(this.waiting);
    this.working.hidden = true;
  }

  /** The form says something else than what is shown: dim it, and ask again soon. */
  changed() {
    this.onsettings();
    this.await();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), this.spec.wait ?? 400);
  }

  await() {
    this.place.cancel();
    this.say("waiting");
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => { this.working.hidden = false; this.progress({ seconds: 0 }); }, 700 + (this.spec.wait ?? 400));
  }

  cancel() {
    clearTimeout(this.timer);
    this.place.cancel();
    for (const field of this.form.fields) field.stop?.();
    this.say("cancelled", "Cancelled: these settings have no answer yet.");
  }

  progress({ done, total, seconds }) {
    this.bar.max = total ?? 1;
    if (total) this.bar.value = done;
    else this.bar.removeAttribute("value");
    this.spent.textContent = total ? `${done} of ${total}, ${Math.round(seconds)} s` : seconds ? `${Math.round(seconds)} s` : "working";
  }

  async run() {
    clearTimeout(this.timer);
    if (this.form.fields.some((field) => field.sending)) return; // it calls again when the file is there
    this.form.clearErrors();
    const broken = this.form.fields.find((field) => field.broken);
    if (broken) { this.say("problem", `No answer: ${broken.broken}`); return; }
    const question = this.spec.question(this.form.values(), this);
    if (question === null) { this.place.cancel(); this.say("empty", this.spec.invitation, this.spec.promise); return; }
    this.await();
    try {
      await this.place.run(async (signal) => {
        const found = await ask(this.spec.endpoint, question, { signal, progress: (state) => this.progress(state) });
        if (signal.aborted) return;
        this.last = { question, ...found };
        this.resent = false;
        await this.show(signal);
      });
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error instanceof Problem) { await this.fail(error); return; }
      this.say("problem", "No answer: something went wrong on this page; this is a bug in weakly.");
      throw error;
    }
  }

  async show(signal) {
    const { result, notes } = named({ result: this.last.result, notes: this.last.notes });
    this.below.hidden = false; // figures need a size to be drawn
    this.notes.replaceChildren(...notes.map((text) => el("p", { class: "note", text: spoken(text[0].toUpperCase() + text.slice(1)) })));
    this.asked.textContent = `Asked: ${this.form.described()}`;
    const [first, ...more] = this.spec.words(result).map(spoken);
    this.node.dataset.verdict = result.verdict ?? "";
    await this.spec.render(this, result);
    if (!signal.aborted) this.say("answered", first, more);
  }

  async fail(problem) {
    const field = this.form.fields.find((each) => each.name === problem.field && each.received);
    if (field && problem.message.includes("no longer on the server") && !this.resent) {
      this.resent = true; // the server forgets files after a while; the page still has this one
      await field.resend();
      return;
    }
    const message = spoken(problem.message).replace(/\b[a-z]+(_[a-z]+)+\b/g, (name) => (vocabulary[name] || this.form.field(name) ? words(name) : name));
    this.form.showError(problem.field, message);
    this.say("problem", `No answer: ${message}`);
  }

  example() {
    for (const field of this.form.fields) if (field.spec.kind !== "file") field.set(field.spec.value ?? "");
    this.tried = "";
    for (const [name, value] of Object.entries(this.spec.example)) {
      const field = this.form.field(name);
      if (field.spec.kind === "file") field.example();
      else field.set(value);
    }
    this.form.arrange();
    this.changed();
  }

  drop(event) {
    event.preventDefault();
    this.node.classList.remove("over");
    const fields = this.form.fields.filter((each) => each.spec.kind === "file");
    const name = event.target.closest("[data-field]")?.dataset.field;
    const field = fields.find((each) => each.name === name) ?? fields.find((each) => !each.received) ?? fields[0];
    const files = event.dataTransfer.files;
    if (!field || files.length === 0) return;
    if (files.length > 1) toast("One file at a time: only the first was taken.");
    field.take(files[0]);
  }

  /** Settings that differ from the defaults, for a link. */
  settings() {
    return [...this.form.settings(), ...(this.tried === "" ? [] : [["try", this.tried]])];
  }

  /** Takes the settings of a link; whether anything changed. */
  restore(settings) {
    const before = JSON.stringify(this.settings());
    this.form.restore(settings);
    this.tried = settings.get("try") ?? "";
    return before !== JSON.stringify(this.settings());
  }

  async download(path, more, button) {
    button.disabled = true;
    try {
      const { name, blob } = await fetchFile(path, { ...this.last.question, ...more });
      save(name, blob, blob.type);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      toast(error.message, 8000);
    } finally {
      button.disabled = false;
    }
  }
}
