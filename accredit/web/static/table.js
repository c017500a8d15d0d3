// Tables: a dropped file or the built-in table; the columns over all rows, then any row, whose steps are asked for when it is picked.
import { sortable } from "/static/sorting.js";
import { Asking, breath, element, nodes, put } from "/static/page-parts.js";
import { ask, events, Problem, reason } from "/static/stream.js";

const MOST = 5_000_000; // characters, as the server takes them
const ENDINGS = [".csv", ".tsv", ".jsonl", ".ndjson"];

// The names of the columns, as the server reads them: it finds out what separates cells.
export async function columnsOf(name, table, writing = {}) {
  return (await ask("/api/table/columns", { name, table, writing })).columns;
}

// A file as text, or a sentence that says why not.
export async function tableFile(file, most = MOST, encoding = "") {
  if (!ENDINGS.some((ending) => file.name.toLowerCase().endsWith(ending))) throw new Problem(`${file.name} is not a table that this page reads. Choose a .csv, .tsv or .jsonl file.`);
  if (file.size > most) throw new Problem(`${file.name} has ${(file.size / 1e6).toFixed(1)} MB, and this page takes ${most / 1e6} MB. Keep the rows that matter, or use the command.`);
  let text;
  try {
    const bytes = await file.arrayBuffer();
    text = new TextDecoder(encoding || marked(bytes), { fatal: true }).decode(bytes);
  } catch {
    throw new Problem(`${file.name} is not text in ${encoding || "UTF-8"}. Save it as UTF-8 and choose it again, or say its encoding where there is a field for it.`);
  }
  if (!text.trim()) throw new Problem(`${file.name} is empty. Its first line must name the columns.`);
  return text;
}

// The encoding that the first bytes of a file name.
function marked(bytes) {
  const [first, second] = new Uint8Array(bytes.slice(0, 2));
  return first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

// Files that are dropped on an element, or chosen in its field, read one after the other. `take` tells whether a file could be read.
// What is asked while one is being read waits for it: `settled` is false where that file could not be.
export function takesFiles(zone, field, take) {
  let reading = null;
  function next(file) {
    const own = (reading = Promise.resolve(reading).then(() => take(file)));
    own.finally(() => own === reading && (reading = null));
  }
  for (const kind of ["dragover", "dragleave", "drop"])
    zone.addEventListener(kind, (event) => {
      event.preventDefault();
      zone.classList.toggle("dropping", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) next(event.dataTransfer.files[0]);
    });
  field.addEventListener("change", () => {
    if (field.files.length) next(field.files[0]);
    field.value = "";
  });
  return { next, settled: async () => (reading ? await reading : true) };
}

// What was asked for is in sight: where most of the window would show the form, the result is scrolled to its top. Where it
// stands is known after the next frame, and asking earlier would force a layout.
export async function reveal(result) {
  await breath();
  if (result.getBoundingClientRect().top > innerHeight / 2) result.scrollIntoView({ block: "start" });
}

export function tableView(about, frame) {
  const by = (id) => document.getElementById(id);
  const form = by("tables-form");
  const result = by("tables-result");
  const target = by("table-target");
  const shown = by("table-shown");
  const hello = [...result.childNodes];
  const asking = new Asking(form, result);
  const written = by("table-writing");
  let file = null; // its name and text; none is the built-in table
  let last = null; // the file that was chosen, read or not: it is read again when a field says more about it
  let picking = null;

  const field = (name) => written.querySelector(`[name="${name}"]`).value.trim();
  const words = (name) => field(name).split(",").map((word) => word.trim()).filter(Boolean);
  const writing = () => ({
    delimiter: field("delimiter") || null,
    decimal: field("decimal") || null,
    percent: field("percent") || null,
    index: field("index") || null,
    missing: words("missing"),
    truth: field("truth") ? words("truth") : null,
  });
  const request = () => ({ writing: file ? writing() : {}, table: file?.text ?? "", name: file?.name ?? "", target: (file && target.value) || null, shown: shown.value || null });

  function label() {
    by("table-name").textContent = file ? file.name : "The built-in table of patients";
    by("table-hint").textContent = file
      ? `${file.columns.length} ${file.columns.length === 1 ? "column" : "columns"}. A link cannot carry a file: save the result as one HTML file to keep or share it.`
      : about.table
        ? `Drop rows for ${about.table}.`
        : "Press Explain to see it, or drop a table of your own.";
    by("table-target-of").hidden = !file;
    by("table-target-of").querySelector("span").textContent = about.table ? "Column that the model does not read" : "Column to predict";
    by("table-away").hidden = !file;
  }

  // What is shown no longer answers what is asked.
  function outdated() {
    asking.stop();
    asking.tell("");
    picking?.abort();
    view.page = null;
    frame.savable();
    asking.age();
  }

  async function take(chosen) {
    outdated();
    written.hidden = false;
    last = chosen;
    try {
      const text = await tableFile(chosen, MOST, field("encoding"));
      file = { name: chosen.name, text, columns: await columnsOf(chosen.name, text, writing()) };
    } catch (error) {
      written.open ||= error instanceof Problem && error.message.includes("How it is written");
      result.replaceChildren(...hello);
      asking.age(false);
      asking.tell(error instanceof Problem ? error.message : `${chosen.name} cannot be read. Choose it again.`);
      return false;
    }
    const names = file.columns.map((name) => element("option", { value: name }, name || "(no name)"));
    target.replaceChildren(...(about.table ? [element("option", { value: "" }, "none: it reads them all")] : []), ...names);
    if (!about.table) target.value = file.columns.at(-1);
    forget();
    label();
    if (about.table) explain();
    else asking.tell("");
    by("table-target").focus();
    return true;
  }

  function forget() {
    shown.replaceChildren();
    by("table-shown-of").hidden = true;
  }

  async function explain() {
    picking?.abort();
    if (file && !about.table && !target.value) return asking.tell(`The column to predict has no name in ${file.name}. Give it one there, or choose another column.`);
    view.page = null;
    frame.savable();
    frame.remember("tables", file ? {} : { built: "in", shown: shown.value });
    const asked = request();
    await asking.run("/api/table", { ...asked, row: null }, (event) => {
      if (event.event === "result") (draw(event, asked), reveal(result));
      if (event.event === "done") {
        view.page = () => event.page;
        frame.savable();
      }
    });
  }

  function draw(event, asked) {
    result.replaceChildren(); // it was asked for in the form above, so nothing of the earlier one is being read
    const main = put(result, ...event.made);
    sortable(main);
    shown.replaceChildren(...event.outputs.map((name) => element("option", { value: name }, name)));
    shown.value = event.shown;
    by("table-shown-of").hidden = event.outputs.length < 2;
    main.addEventListener("click", (clicked) => {
      const page = clicked.target.closest(".pages button");
      if (page) return turn(main, page, { ...asked, shown: event.shown });
      const link = clicked.target.closest('a[href^="#row-"]');
      if (!link) return;
      clicked.preventDefault();
      pick(main, link, { ...asked, shown: event.shown });
    });
    main.querySelector(".list tbody tr")?.classList.add("now");
  }

  // Another page of rows to pick from.
  async function turn(main, button, asked) {
    picking?.abort();
    const own = (picking = new AbortController());
    for (const each of main.querySelectorAll(".pages button")) each.classList.toggle("on", each === button);
    try {
      for await (const event of events("/api/table", { ...asked, row: null, page: Number(button.value) }, own.signal)) {
        if (event.event === "failed") throw new Problem(event.problem);
        const made = event.event === "result" ? await nodes(event.list) : null;
        if (!made || own.signal.aborted) continue;
        main.querySelector(".list .rows").replaceChildren(...made);
        sortable(main.querySelector(".list .rows"));
      }
    } catch (error) {
      if (!own.signal.aborted) asking.tell(reason(error));
    }
  }

  // The steps of one row; the file goes along, because the server keeps only the last few.
  async function pick(main, link, asked) {
    picking?.abort();
    const own = (picking = new AbortController());
    for (const row of main.querySelectorAll(".list .now")) row.classList.remove("now");
    link.closest("tr").classList.add("now");
    try {
      for await (const event of events("/api/table", { ...asked, row: Number(link.hash.slice(5)) }, own.signal)) {
        if (event.event === "failed") throw new Problem(event.problem);
        const made = event.event === "result" ? await nodes(event.row) : null;
        if (made && !own.signal.aborted) main.querySelector(".picked").replaceChildren(...made);
      }
    } catch (error) {
      if (!own.signal.aborted) asking.tell(reason(error));
    }
  }

  const files = takesFiles(by("view-tables"), by("table-file"), take);
  written.addEventListener("change", () => last && files.next(last));
  target.addEventListener("change", () => (forget(), outdated()));
  shown.addEventListener("change", explain);
  by("table-away").addEventListener("click", () => {
    outdated();
    file = last = null;
    written.hidden = true;
    forget();
    result.replaceChildren(...hello);
    asking.age(false);
    label();
    frame.remember("tables", {});
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await files.settled()) explain();
  });
  label();

  const view = {
    holds: ["built", "shown"],
    page: null,
    unlinkable: () => (file ? "A link cannot carry a file; save the view as HTML instead." : ""),
    enter(query) {
      if (query.has("built") && !file && !view.page) {
        if (query.get("shown")) shown.replaceChildren(element("option", { value: query.get("shown") })); // it is there, or refused by name
        explain();
      }
      else if (view.page) frame.remember("tables", file ? {} : { built: "in", shown: shown.value });
    },
    leave() {
      asking.stop();
      picking?.abort();
    },
  };
  return view;
}
