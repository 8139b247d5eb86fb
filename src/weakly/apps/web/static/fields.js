// Fields of a form from a declaration: label, slider and number side by side, help, and a place for its own error.
import { el, spoken, toast } from "./dom.js";
import { named, readNames } from "./names.js";
import { Place, Problem, example, upload } from "./server.js";

const STEPS = 1000;
let counter = 0;

function scale({ low, high, log }) {
  const [a, b] = log ? [Math.log(low), Math.log(high)] : [low, high];
  return {
    toSlider: (value) => Math.round((STEPS * ((log ? Math.log(value) : value) - a)) / (b - a)),
    fromSlider: (step) => {
      const value = a + (step / STEPS) * (b - a);
      return Number((log ? Math.exp(value) : value).toPrecision(3));
    },
  };
}

/** A slider and a box that follow each other; the box takes values beyond the slider's ends, and texts if `text`. */
export function sliderBox({ low, high, log = false, whole = false, text = false, value, id, label, onchange }) {
  const { toSlider, fromSlider } = scale({ low, high, log });
  const box = el("input", { id, type: text ? "text" : "number", step: whole ? 1 : "any", value, inputmode: text ? null : "decimal", autocomplete: "off", spellcheck: "false" });
  const slider = el("input", { type: "range", min: 0, max: STEPS, value: STEPS / 2, step: 1, "aria-label": `${label}, slider` });
  const follow = () => {
    const number = Number(box.value);
    if (box.value.trim() === "" || !Number.isFinite(number) || (log && number <= 0)) {
      slider.setAttribute("aria-valuetext", box.value.trim() || "not given");
      return;
    }
    slider.value = Math.min(STEPS, Math.max(0, toSlider(number)));
    slider.setAttribute("aria-valuetext", String(number));
  };
  slider.addEventListener("input", () => {
    const number = fromSlider(Number(slider.value));
    box.value = whole ? Math.round(number) : number;
    slider.setAttribute("aria-valuetext", box.value);
    onchange();
  });
  // A key moves the slider by a hundredth of its way, not by a thousandth.
  slider.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 10, ArrowUp: 10, ArrowLeft: -10, ArrowDown: -10 }[event.key];
    if (!move || event.shiftKey) return;
    event.preventDefault();
    slider.value = Number(slider.value) + move;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  });
  box.addEventListener("input", () => { follow(); onchange(); });
  follow();
  return { box, slider, set: (next) => { box.value = next; follow(); } };
}

class Field {
  constructor(spec, symbols, onchange, owner) {
    this.spec = spec;
    this.name = spec.name;
    this.kept = `file.${owner}.${spec.name}`; // where what is known of a file outlives a reload
    this.id = `f${++counter}-${spec.name}`;
    const symbol = symbols[spec.symbol ?? spec.name];
    const unit = spec.unit ?? symbol?.unit;
    const label = spec.label + (unit ? ` (${unit})` : "");
    this.message = el("p", { class: "error", id: `${this.id}-error`, role: "alert" });
    const help = spec.help ? el("p", { class: "help", id: `${this.id}-help`, text: spec.help }) : null;
    const [mark, low] = (spec.mark ?? "").split("_");
    const marked = mark ? el("span", { class: "symbol", text: ` ${mark}` }, low ? el("sub", { text: low }) : null) : null;
    const control = this.make(spec, symbol, label, onchange);
    const grouped = spec.kind === "choice";
    const head = grouped ? el("span", { class: "label", id: `${this.id}-label`, text: label }, marked) : el("label", { for: this.id, text: label }, marked);
    this.node = el("div", { class: "field", "data-field": spec.name, role: grouped ? "radiogroup" : null, "aria-labelledby": grouped ? `${this.id}-label` : null }, head, control, help, this.message);
    this.input.setAttribute("aria-describedby", `${this.id}-error${help ? ` ${this.id}-help` : ""}`);
    if (spec.placeholder) this.input.placeholder = spec.placeholder;
  }

  make(spec, symbol, label, onchange) {
    if (spec.kind === "select") {
      this.input = el("select", { id: this.id, onchange: () => { this.wanted = ""; onchange(); } });
      this.options(spec.options);
      this.set(spec.value ?? "");
      return this.input;
    }
    if (spec.kind === "choice") {
      const radios = spec.options.map(([value, text]) => el("input", { type: "radio", name: this.id, value, checked: value === spec.value, onchange }));
      this.input = radios[0];
      this.read = () => radios.find((radio) => radio.checked)?.value;
      this.write = (value) => radios.forEach((radio) => { radio.checked = radio.value === value; });
      return el("div", { class: "choices" }, ...radios.map((radio, k) => el("label", {}, radio, spec.options[k][1])));
    }
    if (spec.kind === "file") return this.makeFile(spec, onchange);
    if (spec.slider) {
      const [low, high] = Array.isArray(spec.slider) ? spec.slider : symbol.typical;
      const pair = sliderBox({ low, high, log: spec.log, whole: spec.whole, text: spec.kind === "text", value: spec.value ?? "", id: this.id, label, onchange });
      this.input = pair.box;
      this.write = pair.set;
      return el("div", { class: "row" }, pair.slider, pair.box);
    }
    this.input = el("input", { id: this.id, type: spec.kind, step: "any", value: spec.value ?? "", oninput: onchange, autocomplete: "off", spellcheck: "false" });
    return this.input;
  }

  makeFile(spec, onchange) {
    this.input = el("input", { id: this.id, type: "file" });
    this.state = el("p", { class: "help", "aria-live": "polite" });
    this.place = new Place();
    const forget = el("button", { type: "button", text: "Remove file", hidden: true, onclick: () => { this.input.value = ""; this.resend = async () => {}; arrived(null, ""); } });
    const arrived = (received, text, broken = "", name = "") => {
      Object.assign(this, { received, broken, sending: false });
      if (received) sessionStorage.setItem(this.kept, JSON.stringify({ received, text, name }));
      else sessionStorage.removeItem(this.kept);
      offer.hidden = true;
      this.state.textContent = text;
      this.error(broken);
      forget.hidden = received === null && broken === "";
      this.node.classList.toggle("filled", received !== null);
      spec.onreceived?.(received);
      onchange();
      const said = received ? [received.reading.replaceAll("recording_length =", "recording length ="), ...received.findings.map((each) => each.replace(`${name}:`, "line "))] : [];
      this.state.append(...said.flatMap((each) => [el("br"), each]));
    };
    /** After a reload the file is still on the server: the page remembers what came back for it. */
    this.recall = () => {
      const kept = sessionStorage.getItem(this.kept);
      if (!kept || performance.getEntriesByType("navigation")[0]?.type !== "reload") { sessionStorage.removeItem(this.kept); return; }
      const { received, text, name } = JSON.parse(kept);
      this.resend = async () => arrived(null, "", `The server no longer has ${name || "the file"}: choose it again.`);
      arrived(received, text, "", name);
    };
    /** A file that this field cannot take may be what another tab asks for. */
    const offer = el("button", { type: "button", hidden: true, text: "Open it in another tab" });
    const elsewhere = async (file, fields) => {
      const kind = fields.kind === "events" ? "answers" : "events";
      const fits = await upload(file, { ...fields, kind }).then(() => true, () => false);
      if (!fits || !this.broken) return;
      this.broken = kind === "answers" ? `${file.name} says of clips what is in them, not when events begin and end.` : `${file.name} says when events begin and end, not what was said of clips.`;
      this.error(this.broken);
      propose(kind, file);
      onchange();
    };
    const propose = (kind, file, why = "") => {
      offer.textContent = `${why}Open it in the tab ${kind === "answers" ? "Audit" : "Evaluate"}`;
      offer.onclick = () => { this.input.value = ""; arrived(null, ""); document.dispatchEvent(new CustomEvent("open-elsewhere", { detail: { kind, file } })); };
      offer.hidden = false;
    };
    const option = (name, text, attributes) => {
      const input = el("input", { id: `${this.id}-${name}`, autocomplete: "off", onchange: () => this.resend(), ...attributes });
      return { name, input, node: el("div", { class: "field" }, el("label", { for: input.id, text }), input) };
    };
    const options = [
      option("recording_length", "Length of every recording (s), if the file does not say", { type: "number", step: "any" }),
      option("columns", "Columns, if they have other names", { type: "text", placeholder: "onset=start, offset=end" }),
      option("on_error", "Skip broken rows", { type: "checkbox" }),
    ];
    const table = option("names", "Names of the classes, if they are codes: a table of codes and names", { type: "file" });
    table.input.onchange = async () => {
      const count = readNames(await table.input.files[0].text(), this.received?.labels ?? []);
      toast(count ? `${count} classes have names now.` : "No class of the file is in this table.", 4000);
      spec.onreceived?.(this.received);
      onchange();
    };
    /** Has a file read on the server; whatever was shown is about another file from now on. */
    const send = async (name, request) => {
      this.sending = true;
      this.error("");
      this.state.textContent = `Reading ${name} …`;
      onchange();
      try {
        const received = await this.place.run(request);
        const count = (n) => n.toLocaleString("en-US");
        arrived(received, `${name}: ${count(received.n_events)} ${received.kind}, ${count(received.n_recordings)} recordings, ${count(received.labels.length)} classes. ${received.notes.join(" ")}`, "", name);
      } catch (error) {
        if (error.name === "AbortError") return;
        if (!(error instanceof Problem)) throw error;
        arrived(null, "", spoken(error.message));
      }
    };
    this.take = (file) => {
      if (!file) return Promise.resolve();
      this.resend = () => {
        const fields = { kind: spec.upload ?? "events", recording_length: options[0].input.value, columns: options[1].input.value, on_error: options[2].input.checked ? "skip" : "" };
        return send(file.name, (signal) => upload(file, fields, { signal })).then(() => {
          if (this.broken) return elsewhere(file, fields);
          if (fields.kind === "events" && this.received?.reading.includes("all of the clip")) propose("answers", file, "These labels are about whole clips, not events. ");
        });
      };
      return this.resend();
    };
    this.example = () => {
      this.input.value = "";
      this.resend = () => send("The example", (signal) => example(spec.upload ?? "events", { signal }));
      return this.resend();
    };
    this.stop = () => {
      if (!this.sending) return;
      this.place.cancel();
      this.input.value = "";
      Object.assign(this, { received: null, broken: "", sending: false });
      this.state.textContent = "";
    };
    this.resend = async () => {};
    this.input.addEventListener("change", () => this.take(this.input.files[0]));
    this.read = () => this.received?.key ?? "";
    this.write = () => {};
    const more = el("details", {}, el("summary", { text: "How to read it" }), ...[...options, table].map((each) => each.node));
    return el("div", {}, el("div", { class: "drop" }, this.input, el("span", { class: "help", text: "or drop it here" })), this.state, offer, forget, more);
  }

  /** The options of a select; a choice that came with a link is kept until they hold it. */
  options(options) {
    const before = this.wanted || this.input.value;
    this.input.replaceChildren(...options.map(([value, text]) => el("option", { value, text: named(text) })));
    this.set(before);
  }

  get() {
    const value = this.read ? this.read() : this.input.value.trim();
    if (this.spec.kind !== "number" || value === "") return value;
    return Number(value);
  }

  set(value) {
    if (this.write) this.write(value);
    else this.input.value = value;
    if (this.spec.kind !== "select") return;
    const known = this.input.value === value;
    this.wanted = known ? "" : value;
    if (!known) this.input.selectedIndex = 0;
  }

  error(message) {
    this.message.textContent = message;
    if (message) this.input.setAttribute("aria-invalid", "true");
    else this.input.removeAttribute("aria-invalid");
  }
}

/** A form from groups of declarations: [{legend, fields: [...]}]. */
export class Form {
  constructor(groups, symbols, onchange, owner) {
    this.fields = [];
    const changed = () => { this.arrange(); onchange(); };
    const sets = groups.map(({ legend, fields }) => {
      const made = fields.map((spec) => new Field(spec, symbols, changed, owner));
      this.fields.push(...made);
      return el("fieldset", {}, el("legend", { text: legend }), ...made.map((field) => field.node));
    });
    this.node = el("form", { onsubmit: (event) => event.preventDefault(), novalidate: true }, ...sets);
    this.arrange();
  }

  field(name) {
    return this.fields.find((field) => field.name === name);
  }

  all() {
    return Object.fromEntries(this.fields.map((field) => [field.name, field.get()]));
  }

  arrange() {
    const values = this.all();
    for (const field of this.fields) field.node.hidden = field.spec.when ? !field.spec.when(values) : false;
  }

  /** The values of the visible, filled fields. */
  values() {
    return Object.fromEntries(this.fields.filter((field) => !field.node.hidden && field.get() !== "").map((field) => [field.name, field.get()]));
  }

  clearErrors() {
    for (const field of this.fields) field.error(field.broken ?? "");
  }

  /** Puts a message beside its field; whether there was such a field. */
  showError(name, message) {
    const field = this.fields.find((each) => (each.name === name || each.spec.aka?.includes(name)) && !each.node.hidden);
    field?.error(message);
    return field !== undefined;
  }

  /** The question in words, for paper. */
  described() {
    const said = (field) => (field.spec.kind === "file" ? field.state.textContent : field.spec.kind === "select" ? field.input.selectedOptions[0]?.text : field.get());
    return this.fields.filter((field) => !field.node.hidden && field.get() !== "").map((field) => `${field.spec.asked ?? field.spec.label.toLowerCase()}: ${said(field)}`).join("; ");
  }

  /** The settings that differ from the defaults, for a link; files are not part of it. */
  settings() {
    return this.fields
      .filter((field) => field.spec.kind !== "file")
      .map((field) => [field.name, String(field.wanted || field.get()), String(field.spec.value ?? "")])
      .filter(([, value, usual]) => value !== usual)
      .map(([name, value]) => [name, value]);
  }

  restore(settings) {
    for (const field of this.fields) {
      if (field.spec.kind === "file") continue;
      field.set(settings.get(field.name) ?? field.spec.value ?? "");
    }
    this.arrange();
  }
}
