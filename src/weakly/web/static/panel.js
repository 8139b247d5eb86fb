// One tab: a form on the left, the answer on the right; asks when something changes, tells what is going on.
import { el, save, toast } from "./dom.js";
import { Form } from "./fields.js";
import { Place, Problem, ask, fetchFile } from "./server.js";

export class Panel {
  /** spec: {name, title, groups, endpoint, live, question(values), render(output, result, question), downloads} */
  constructor(spec, symbols, onsettings) {
    Object.assign(this, { spec, name: spec.name, onsettings });
    this.place = new Place();
    this.timer = 0;
    this.last = null;
    this.resent = false;
    this.form = new Form(spec.groups(this), symbols, () => this.changed());
    this.answer = el("p", { class: "answer", id: `answer-${spec.name}`, "aria-live": "polite", tabindex: "-1", text: spec.invitation });
    this.problem = el("p", { class: "error", role: "alert" });
    this.notes = el("div", { class: "notes", "aria-live": "polite" });
    this.bar = el("progress", { "aria-label": "Progress" });
    this.spent = el("span", { class: "help" });
    this.working = el("div", { class: "working", hidden: true }, this.bar, this.spent, el("button", { type: "button", text: "Cancel", onclick: () => this.cancel() }));
    this.output = el("div", { class: "results" });
    this.files = el("div", { class: "buttons", hidden: true }, el("button", { type: "button", text: "Download JSON", onclick: () => save(`${spec.name}.json`, JSON.stringify(this.last.result, null, 2), "application/json") }),
      ...(spec.downloads ?? []).map(({ text, path, more }) => { const button = el("button", { type: "button", text, onclick: () => this.download(path, more?.(this) ?? {}, button) }); return button; }));
    if (!spec.live) this.form.node.append(el("div", { class: "buttons" }, el("button", { type: "submit", class: "main", text: spec.button })));
    this.form.node.addEventListener("submit", () => this.run());
    this.node = el("section", { class: "panel", role: "tabpanel", id: `panel-${spec.name}`, "aria-labelledby": `tab-${spec.name}`, hidden: true },
      el("div", { class: "head" }, this.answer, this.problem, this.working, this.notes), this.form.node, el("div", { class: "output" }, this.files, this.output));
  }

  changed() {
    this.onsettings();
    if (!this.spec.live) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(), 60);
  }

  cancel() {
    this.place.cancel();
    this.rest();
    toast("Cancelled.");
  }

  rest() {
    clearTimeout(this.waiting);
    this.working.hidden = true;
    this.stale(false);
  }

  /** Whether what is shown is the answer to an earlier question. */
  stale(old) {
    for (const node of [this.answer, this.output]) node.classList.toggle("stale", old);
  }

  progress({ done, total, seconds }) {
    this.bar.max = total ?? 1;
    if (total) this.bar.value = done;
    else this.bar.removeAttribute("value");
    this.spent.textContent = `${total ? `${done} of ${total}, ` : ""}${Math.round(seconds)} s`;
  }

  async run() {
    const question = this.spec.question(this.form.values(), this);
    this.form.clearErrors();
    this.problem.textContent = "";
    if (question === null) return;
    try {
      await this.place.run(async (signal) => {
        clearTimeout(this.waiting);
        this.waiting = setTimeout(() => { this.working.hidden = false; this.progress({ seconds: 1 }); this.stale(true); }, 700);
        this.last = { question, ...(await ask(this.spec.endpoint, question, { signal, progress: (state) => this.progress(state) })) };
        this.resent = false;
        await this.show();
      });
      this.rest();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.rest();
      if (!(error instanceof Problem)) throw error;
      await this.fail(error);
    }
  }

  async show() {
    const { result, notes, question } = this.last;
    this.notes.replaceChildren(...notes.map((text) => el("p", { class: "note", text })));
    await this.spec.render(this, result, question);
    this.files.hidden = false;
  }

  async fail(problem) {
    const field = this.form.fields.find((each) => each.name === problem.field && each.received);
    if (field && problem.message.includes("no longer on the server") && !this.resent) {
      this.resent = true; // the server forgets files after a while; the page still has this one
      await field.send();
      return;
    }
    if (!this.form.showError(problem.field, problem.message)) this.problem.textContent = problem.message;
    else this.problem.textContent = "Something in the form needs another value; the answer below is the one before.";
    this.stale(true);
  }

  async download(path, more, button) {
    button.disabled = true;
    try {
      const { name, blob } = await fetchFile(path, { ...this.last.question, ...more });
      save(name, blob, blob.type);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.problem.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  }
}
