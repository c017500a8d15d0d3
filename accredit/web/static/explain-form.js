// What the form of Explain shows before anything was asked: the models, their labels and training, methods, examples. And the parts of a
// long text, with what the model says of each.
import { element } from "/static/page-parts.js";

const EXAMPLES = [
  "A gripping, beautifully shot film that never lands.",
  "Not bad at all, in fact rather wonderful.",
  "The acting is superb, but the story is dull and far too long.",
];
const LISTED = 12; // labels that are named

// A model in a few sentences.
function cardOf(model) {
  if (!model) return "";
  const listed = model.labels.length > LISTED ? [...model.labels.slice(0, LISTED), "…"] : model.labels;
  const labels = listed.length ? ` It answers ${listed.join(", ").replace(/, ([^,]*)$/, " or $1")}.` : "";
  const trained = model.trained ? ` Trained on: ${model.trained}.` : " Its folder does not say what it was trained on.";
  return `Model: ${model.name}.${labels}${trained}${model.reads ? ` It reads ${model.reads.toLocaleString("en")} tokens at once.` : ""}`;
}

export function fillForm(form, about, tried) {
  const by = (id) => document.getElementById(id);
  by("text").value = EXAMPLES[0];
  by("text-card").textContent = cardOf(about.text);
  by("image-card").textContent = about.image ? `${cardOf(about.image)} A link cannot carry a picture; Save as HTML keeps it.` : "";
  by("image-limits").textContent = about.image?.limits ?? "";
  by("pair-add").hidden = !about.text?.pairs;
  form.querySelector(".file").hidden = !about.image;
  for (const label of about.text?.labels ?? []) by("target").append(element("option", { value: label }, label));
  // Methods with one number per player are for games whose size is known before; the usual ones come first.
  const place = (method) => (about.default ?? []).indexOf(method.name) >>> 0; // those that are not there come last
  const listed = (about.methods ?? []).filter((method) => !method.parameters?.per_player);
  const groups = new Map([["", by("methods").querySelector(".checks")]]); // what they are good for -> where they stand
  for (const method of listed.toSorted((a, b) => place(a) - place(b))) {
    const usual = about.default.includes(method.name);
    const group = usual ? "" : method.group;
    if (!groups.has(group)) {
      groups.set(group, element("div", { className: "checks" }));
      by("methods").querySelector("details").append(element("h2", {}, group), groups.get(group));
    }
    const box = element("input", { type: "checkbox", value: method.spelled, checked: usual });
    groups.get(group).append(element("label", { title: method.note }, box, element("span", {}, element("b", {}, method.title), ` ${method.words}`)));
  }
  by("examples").hidden = !about.builtin;
  for (const example of EXAMPLES) {
    const button = element("button", { type: "button", className: "example" }, example);
    button.addEventListener("click", () => tried(example));
    by("examples").append(button);
  }
}

export function partsOf(nav, chosen) {
  nav.addEventListener("click", (event) => {
    const wanted = event.target.closest("button")?.value;
    if (wanted !== undefined) chosen(wanted);
  });

  function draw({ part, parts, summary }) {
    nav.hidden = !parts;
    if (!parts) return;
    const buttons = parts.map(([label, share], k) => element("button", { type: "button", className: "small", value: k }, `${k + 1} · ${label} ${Math.round(100 * share)}%`));
    buttons[part].setAttribute("aria-current", "true");
    const beginning = element("button", { type: "button", className: "small", value: "cut" }, "its beginning only");
    nav.replaceChildren(element("p", { className: "small" }, `${summary} Part ${part + 1} of ${parts.length} is explained below.`), ...buttons, beginning);
  }
  return { draw };
}
