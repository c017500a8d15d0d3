// Data: a journal, looked at again every second while this view is open: the one that the server was started with, or that of a
// run started here.
import { sortable } from "/static/sorting.js";
import { file as fetched, get, Problem, reason, send } from "/static/stream.js";
import { element, nodes, place, rewritten, sentence } from "/static/page-parts.js";
import { columnsOf, reveal, tableFile, takesFiles } from "/static/table.js";

const EVERY = 1000;
const MANY = 20_000; // rows
const EXAMPLE = { name: "reviews.csv", target: "mood", text: "review" };

export function dataView(about, frame) {
  const by = (id) => document.getElementById(id);
  const form = by("data-form");
  const result = by("data-result");
  const problem = form.querySelector(".problem");
  const memory = new Map(); // how tables are sorted, and what is searched
  const untrained = (about.valuations ?? []).filter((method) => !method.trains).map((method) => method.name); // these have no budget
  let following = null; // ends with the visit
  let state = "";
  let file = null;
  let started = false; // here, and nothing of it was shown yet
  let open = about.store || about.run; // is there a journal to look at?

  function tell(message) {
    problem.textContent = sentence(message);
    problem.hidden = !message;
  }

  function draw(news, made) {
    const fresh = element("div", { className: "accredit" }, ...made);
    sortable(fresh, memory);
    if (!rewritten(result, fresh)) replace(fresh);
    by("data-live").textContent = `Updated ${new Date().toLocaleTimeString()}; this view follows the file.`;
    if (started) reveal(result);
    started = false;
    by("exports").hidden = false;
    by("export").hidden = !news.payoffs; // a trace was not paid for, and neither is a value without training
    view.page = () => news.page;
    frame.savable();
  }

  // Another result in the place of this one: what was typed, opened and scrolled comes back.
  function replace(fresh) {
    const typing = result.contains(document.activeElement) && document.activeElement.type === "search";
    const fields = () => [...result.querySelectorAll("input[type=search]")];
    const typed = typing ? fields().indexOf(document.activeElement) : -1;
    const named = (d) => d.querySelector("summary").textContent;
    const shown = new Map([...result.querySelectorAll("details")].map((d) => [named(d), d.open]));
    const down = [...result.querySelectorAll(".wide")].map((d) => d.scrollTop);
    const main = place(result, fresh);
    for (const d of main.querySelectorAll("details")) d.open = shown.get(named(d)) ?? d.open;
    main.querySelectorAll(".wide").forEach((d, k) => down[k] && (d.scrollTop = down[k])); // which asks for a layout
    if (typed >= 0) fields()[typed]?.focus();
  }

  // How far a run has got, and how long it still takes; where it cannot say, how long it has taken.
  function advance(progress) {
    const [bar, status] = by("run-going").children;
    by("run-going").hidden = !progress;
    if (!progress) return;
    if (progress.share == null) bar.removeAttribute("value");
    else bar.value = progress.share;
    const left = Math.round(progress.left ?? 0);
    status.textContent = `${sentence(progress.label).slice(0, -1)} … ${left >= 1 ? `${left} s left` : `${progress.seconds} s so far`}`;
  }

  // A run that was started here: how it is, and whether it can be stopped.
  function report(run) {
    const going = run?.how === "running";
    by("run-cancel").hidden = !run || (!going && !about.store);
    by("run-cancel").textContent = going ? "Cancel" : "Back to the journal";
    form.querySelector(".primary").disabled = going || !file;
    by("run-example").disabled = going;
    advance(going ? run.progress : null);
    if (!run) return;
    by("run-name").textContent = run.name;
    const cancelled = view.page ? "Cancelled. What was trained is below." : "Cancelled before anything was written. Start begins again.";
    const slow = run.lines > MANY ? " So many rows may take minutes; Cancel stops it." : "";
    const said = { running: `${run.name} is being valued.${slow}`, finished: `${run.name} is valued.`, cancelled, failed: "" };
    by("run-state").textContent = said[run.how];
    if (run.how === "failed") tell(`The run stopped: ${run.problem}`);
  }

  async function look(signal) {
    try {
      const news = await get(`/api/data?seen=${encodeURIComponent(state)}`, signal);
      const made = news?.html ? await nodes(news.html) : null;
      if (signal.aborted || !news) return;
      tell("");
      state = news.state;
      if (made) draw(news, made);
      report(news.run);
    } catch (error) {
      if (signal.aborted) return;
      state = "";
      tell(reason(error));
    }
  }

  async function follow(signal) {
    await look(signal);
    if (!signal.aborted) setTimeout(() => signal.aborted || follow(signal), EVERY);
  }

  function watch() {
    following?.abort();
    following = new AbortController();
    follow(following.signal);
  }

  async function take(chosen) {
    tell("");
    try {
      const text = await tableFile(chosen);
      file = { name: chosen.name, text, columns: await columnsOf(chosen.name, text) };
    } catch (error) {
      tell(error instanceof Problem ? error.message : `${chosen.name} cannot be read. Choose it again.`);
      return false;
    }
    const { columns } = file;
    const option = (name) => element("option", { value: name }, name || "(no name)");
    by("run-target").replaceChildren(...columns.map(option));
    by("run-text").replaceChildren(element("option", { value: "" }, "none: learn from all other columns"), ...columns.map(option));
    const guess = (words) => columns.find((name) => words.includes(name.toLowerCase()));
    by("run-target").value = guess(["label", "target", "class", "y"]) ?? columns.at(-1);
    by("run-text").value = guess(["text", "review", "sentence"]) ?? "";
    by("run-task").value = "";
    by("run-name").textContent = file.name;
    by("run-options").hidden = false;
    form.querySelector(".primary").disabled = false;
    by("run-target").focus();
    return true;
  }

  async function start() {
    tell("");
    const { value: method } = by("run-method");
    const asked = {
      table: file.text, name: file.name, target: by("run-target").value, text: by("run-text").value || null, task: by("run-task").value || null,
      method, model: by("run-model").value,
      budget: untrained.includes(method) ? null : Math.max(1, Math.round(Number(by("run-budget").value)) || 1),
    };
    try {
      const { run } = await send("POST", "/api/run", asked);
      open = true;
      state = "";
      view.page = null;
      frame.savable();
      by("data-live").textContent = "";
      by("exports").hidden = true; // those of the journal before
      result.replaceChildren();
      started = true;
      report(run);
      watch();
    } catch (error) {
      tell(reason(error));
    }
  }

  const files = takesFiles(by("view-data"), by("run-file"), take);
  by("run-example").addEventListener("click", async () => {
    try {
      await take(new File([await fetched(`/static/${EXAMPLE.name}`)], EXAMPLE.name));
    } catch (error) {
      return tell(reason(error));
    }
    by("run-target").value = EXAMPLE.target;
    by("run-text").value = EXAMPLE.text;
    start();
  });
  by("run-method").append(...(about.valuations ?? []).map(({ name, title, trains }) => element("option", { value: name }, trains ? title : `${title} (no training)`)));
  by("run-method").value = untrained[0];
  const trains = () => {
    by("run-budget").parentElement.hidden = by("run-model").parentElement.hidden = untrained.includes(by("run-method").value);
  };
  by("run-method").addEventListener("change", trains);
  trains();
  by("run-cancel").addEventListener("click", async () => {
    by("run-state").textContent = "";
    try {
      const { run } = await send("DELETE", "/api/run");
      report(run);
      if (!run) ((state = ""), watch());
    } catch (error) {
      tell(reason(error));
    }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (file && (await files.settled())) start();
  });

  const view = {
    holds: [],
    page: null,
    enter() {
      frame.remember("data", {});
      result.querySelector(".hello")?.toggleAttribute("hidden", open);
      if (open) watch();
    },
    leave: () => following?.abort(),
  };
  return view;
}
