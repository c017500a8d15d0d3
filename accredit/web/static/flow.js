// Flow: the drawing follows the sliders; a request that is overtaken is cancelled.
import { Asking, later, nodes, put } from "/static/page-parts.js";

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
  let shown = ""; // the settings of the last drawing that came to its end

  text.value = EXAMPLE;
  by("layer").max = layers;
  const rule = () => form.querySelector("input[name=rule]:checked").value;
  const settings = () => ({ text: text.value, residual: by("residual").value, layer: by("layer").value, rule: rule() });

  function label() {
    by("residual-now").textContent = Number(by("residual").value).toFixed(2);
    const layer = Number(by("layer").value);
    const name = layer === 0 ? "input" : layer === layers ? "output" : String(layer);
    by("layer-now").textContent = name;
    by("layer").setAttribute("aria-valuetext", name);
  }

  async function draw() {
    drawn = true;
    interrupted = false;
    label();
    frame.remember("flow", settings());
    view.page = null;
    frame.savable();
    const given = settings();
    const asked = { ...given, residual: Number(given.residual), layer: Number(given.layer) };
    await asking.run("/api/flow", asked, (event) => {
      if (event.event === "result") {
        layers = event.layers;
        by("layer").max = layers;
        label();
        const opened = [...result.querySelectorAll("details")].map((d) => d.open);
        const main = put(result, ...nodes(event.html));
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
  for (const radio of form.querySelectorAll("input[name=rule]")) radio.addEventListener("change", soon);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    draw();
  });

  const view = {
    page: null,
    enter(query) {
      if (query.has("text")) {
        text.value = query.get("text");
        by("layer").max = Math.max(layers, Number(query.get("layer") ?? 0));
        by("residual").value = query.get("residual") ?? "0.5";
        by("layer").value = query.get("layer") ?? "0";
        for (const radio of form.querySelectorAll("input[name=rule]")) radio.checked = radio.value === (query.get("rule") ?? "barrier");
        label();
        if (!view.page || JSON.stringify(settings()) !== shown) draw(); // else it is still here
      } else if (interrupted) draw();
      else if (drawn) frame.remember("flow", settings());
      else label();
    },
    leave() {
      interrupted ||= asking.running;
      asking.stop();
    },
  };
  return view;
}
