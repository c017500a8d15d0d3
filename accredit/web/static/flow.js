// Flow: the drawing follows the sliders; a request that is overtaken is cancelled.
import { sortable } from "/static/sorting.js";
import { Asking, element, later, pick, put, short, tooLong } from "/static/page-parts.js";
import { reveal } from "/static/table.js";
import { graphPart } from "/static/graph.js";

const EXAMPLE = "A gripping, beautifully shot film that never lands.";

export function flowView(about, frame) {
  const by = (id) => document.getElementById(id);
  const form = by("flow-form");
  const text = by("flow-text");
  const result = by("flow-result");
  const asking = new Asking(form, result);
  let layers = about.text?.layers ?? Number(by("layer").max);
  let drawn = false;
  let interrupted = false; // left while it was drawn
  let other = false; // whether a graph of edges is open instead of a text
  let shown = ""; // the settings of the last drawing that came to its end

  const memory = new Map(); // how the credit is sorted

  text.value = EXAMPLE;
  by("layer").max = layers;
  const total = about.text?.layers ?? 0; // of the model; fewer may be followed
  by("heads").append(...Array.from({ length: about.text?.heads ?? 0 }, (_, k) => element("option", { value: k }, `head ${k + 1} of each layer`)));
  for (const id of ["first-layer", "last-layer"]) {
    by(id).append(...Array.from({ length: total }, (_, k) => element("option", { value: k }, k + 1)));
    by(id).parentElement.hidden = total < 2;
  }
  if (total) by("last-layer").value = total - 1;
  const rule = () => form.querySelector("input[name=rule]:checked").value;
  const chosen = () => ({ heads: by("heads").value, from: by("first-layer").value, to: by("last-layer").value });
  const settings = () => {
    const { heads, from, to } = chosen();
    const some = Number(from) > 0 || Number(to) < total - 1;
    return { text: text.value, residual: by("residual").value, layer: by("layer").value, rule: rule(), heads: heads === "mean" ? "" : heads, ...(some ? { from, to } : {}) };
  };
  const range = () => {
    const { from, to } = chosen();
    if (!total || (Number(from) === 0 && Number(to) === total - 1)) return null;
    return Array.from({ length: Number(to) - Number(from) + 1 }, (_, k) => Number(from) + k);
  };

  function label() {
    by("residual-now").textContent = Number(by("residual").value).toFixed(2);
    const layer = Number(by("layer").value);
    const name = layer === 0 ? "input" : layer === layers ? "output" : String(layer);
    by("layer-now").textContent = name;
    by("layer").setAttribute("aria-valuetext", name);
  }

  async function draw(pressed = false) {
    drawn = true;
    interrupted = false;
    if (!text.value.trim()) return asking.tell("Write some words first: there is no text to draw.");
    const steps = range();
    if (steps && !steps.length) return asking.tell("The first layer comes after the last one. Choose layers from below to above.");
    by("layer").max = steps?.length ?? Math.max(total, Number(by("layer").value));
    label();
    frame.remember("flow", settings());
    view.page = null;
    frame.savable();
    const given = settings();
    const { heads } = chosen();
    const asked = { text: given.text, rule: given.rule, residual: Number(given.residual), layer: Number(by("layer").value), heads: /^\d+$/.test(heads) ? Number(heads) : heads, layers: steps };
    await asking.run("/api/flow", asked, (event) => {
      if (event.event === "result") {
        layers = event.layers;
        by("layer").max = layers;
        label();
        const opened = [...result.querySelectorAll("details")].map((d) => d.open);
        const main = put(result, ...event.made);
        sortable(main, memory);
        if (pressed) reveal(result);
        main.querySelectorAll("details").forEach((d, k) => k in opened && (d.open = opened[k]));
      }
      if (event.event === "done") {
        view.page = () => event.page;
        shown = JSON.stringify(given);
        frame.savable();
      }
    });
  }

  const soon = later(150, () => drawn && draw());
  for (const id of ["residual", "layer"]) by(id).addEventListener("input", () => (label(), soon()));
  for (const choice of form.querySelectorAll("input[name=rule], .knobs select")) choice.addEventListener("change", soon);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    draw(true);
  });
  // Another text: what is shown is not about it.
  text.addEventListener("input", () => {
    asking.age();
    view.page = null;
    frame.savable();
  });

  const view = {
    holds: ["text", "residual", "layer", "rule", "heads", "from", "to", "of", "edges", "begin", "end", "cheapest"],
    page: null,
    enter(query) {
      const edges = query.get("of") === "edges";
      for (const id of ["graph-form", "graph-result"]) by(id).hidden = !edges;
      form.hidden = result.hidden = edges;
      by("view-flow").setAttribute("aria-labelledby", edges ? "h-graph" : "h-flow");
      if (edges !== other) view.page = null; // what can be saved is what is shown
      other = edges;
      if (edges) return asking.stop(), graph.enter(query);
      if (query.has("text")) {
        const long = tooLong(text, query.get("text"));
        if (long) return asking.tell(long);
        text.value = query.get("text");
        by("layer").max = Math.max(layers, Number(query.get("layer") ?? 0));
        by("residual").value = query.get("residual") ?? "0.5";
        by("layer").value = query.get("layer") ?? "0";
        const unknown = [];
        if (query.has("residual") && Number(by("residual").value) !== Number(query.get("residual"))) unknown.push(`the residual weight ${short(query.get("residual"), 30)}`);
        const rules = [...form.querySelectorAll("input[name=rule]")];
        const named = query.get("rule") ?? "barrier";
        const known = rules.find((radio) => radio.value === named);
        if (known) known.checked = true;
        else unknown.push(`the rule ${short(named, 30)}; there are ${rules.map((radio) => radio.value).join(", ")}`);
        for (const [id, key, usual] of [["heads", "heads", "mean"], ["first-layer", "from", "0"], ["last-layer", "to", String(total - 1)]])
          if (!pick(by(id), query.get(key) ?? usual) && query.has(key)) unknown.push(`${key} ${short(query.get(key), 30)}`);
        label();
        by("flow-more").open ||= unknown.length > 0 || ["residual", "layer", "rule", "heads", "from", "to"].some((key) => query.has(key) && query.get(key) !== { residual: "0.5", layer: "0", rule: "barrier", heads: "mean" }[key]);
        if (unknown.length) return asking.tell(`The link asks for ${unknown.join(", and for ")}. Choose what there is and press Draw.`);
        if (!view.page || JSON.stringify(settings()) !== shown) draw(); // else it is still here
      } else if (interrupted) draw();
      else if (drawn) frame.remember("flow", settings());
      else label();
    },
    unlinkable: () => (other ? graph.unlinkable() : ""),
    leave() {
      interrupted ||= asking.running;
      asking.stop();
      graph.leave();
    },
  };
  const graph = graphPart(frame, view);
  return view;
}
