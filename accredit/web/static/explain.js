// Explain: a text, two texts or a picture in, coloured strips out, method by method. A click on a label explains that label; a click
// on a word offers to take it out; words can be joined into players.
import { arrive, Asking, Blocks, element, pick, short, shrinking, tooLong } from "/static/page-parts.js";
import { fillForm, partsOf } from "/static/explain-form.js";
import { groupsFrom, Groups, joining } from "/static/joining.js";
import { pictures } from "/static/pictures.js";
import { whatIf } from "/static/what-if.js";

const CHOICES = ["target", "players", "payoff"];
const KEPT = 8; // results that Back and Forward find again

export function explainView(about, frame) {
  const by = (id) => document.getElementById(id);
  const form = by("explain-form");
  const text = by("text");
  const pair = by("pair");
  const result = by("explain-result");
  const asking = new Asking(form, result);
  const brief = shrinking(form, () => (image ? image.file.name : pair.value ? `${text.value} · ${pair.value}` : text.value));
  const past = new Map(); // settings -> what was shown for them
  let now = null; // what is shown: { blocks, tokens, text, pair, image, target, asked, page }
  let image = null; // { data, file, number }
  let part = null; // of a long text, the part that is explained; or "cut": its beginning
  let begun = false;

  fillForm(form, about, (example) => {
    text.value = example;
    pair.value = "";
    renewed();
    explain();
  });
  const chosen = () => [...form.querySelectorAll("#methods input:checked")].map((box) => box.value);
  const usual = (id) => (id === "players" ? "word" : "");

  function settings() {
    if (image) return {}; // a picture is too large for a link
    const methods = chosen();
    return {
      text: text.value,
      pair: pair.value,
      methods: methods.join() === (about.default ?? []).join() ? "" : methods.join(),
      ...Object.fromEntries(CHOICES.map((id) => [id, by(id).value === usual(id) ? "" : by(id).value])),
      part: part === null ? "" : part === "cut" ? part : part + 1,
      groups: groups.written(),
    };
  }
  const key = () => JSON.stringify(image ? { picture: image.number, ...choices() } : settings());
  const choices = () => ({ methods: chosen(), target: by("target").value, patches: by("patches").value, payoff: by("payoff").value });

  // Takes what a link says; returns what of it does not exist here, in words.
  function restore(query) {
    renewed();
    text.value = query.get("text");
    pair.value = query.get("pair") ?? "";
    by("second").hidden = !pair.value;
    const boxes = [...form.querySelectorAll("#methods input")];
    const asked = query.get("methods")?.split(/,(?!\d)/) ?? about.default;
    const known = asked.filter((name) => boxes.some((box) => box.value === name));
    const lost = asked.filter((name) => !known.includes(name)).map((name) => ["method", name]);
    for (const box of boxes) box.checked = (known.length ? known : about.default).includes(box.value);
    for (const id of CHOICES) if (!offered(by(id), query.get(id)) && query.get(id)) lost.push([id, query.get(id)]);
    const wanted = query.get("part");
    part = wanted === "cut" ? wanted : /^[1-9]\d{0,3}$/.test(wanted ?? "") ? Number(wanted) - 1 : null;
    if (wanted && part === null) lost.push(["part", wanted]);
    try {
      groups.take(groupsFrom(JSON.parse(query.get("groups") ?? "[]")));
    } catch {
      lost.push(["groups", query.get("groups")]);
    }
    return lost.map(([what, value]) => `${what} “${short(value, 30)}”`);
  }

  // Of a model with too many labels to list, the one that is asked for is put on the list.
  function offered(select, value) {
    if (select.id === "target" && value && !about.text?.labels.length) select.append(element("option", { value }, value));
    return pick(select, value);
  }

  async function explain({ note = "", step = true } = {}) {
    const methods = chosen();
    if (!methods.length) return refused("Choose at least one method, under “Methods and settings”.");
    if (!image && !text.value.trim()) return refused("Write some words first: there is no text to explain.");
    frame.remember("explain", settings(), { step: step && begun, state: image && { picture: image.number } });
    begun = true;
    const [asked, settled, blocks] = [request(methods), key(), new Blocks(result)];
    view.page = null;
    frame.savable();
    brief.shrink();
    let first = true;
    const of = image;
    const ended = await asking.run("/api/explain", asked, (event) => {
      if (event.event === "result") {
        if (first) joiner.forget();
        now = { blocks, tokens: event.tokens, text: event.text ?? "", pair: asked.pair, image: of, target: event.target, asked };
        if (part === null && event.parts) part = event.part; // it was too long, and is read in parts
        parts.draw(event);
        blocks.take(event, first, [["parts", by("parts"), null], ["groups", by("groups"), "legend"]]);
        by("groups").hidden = !event.tokens.length || !result.querySelector(".lead .t");
        if (first) what.forget();
        live(blocks.main);
        if (first) arrive(form, blocks.title);
        first = false;
      }
      if (event.event === "done") {
        now.page = event.page;
        now.parts = by("parts").hidden ? [] : [...by("parts").children];
        past.set(settled, now);
        if (past.size > KEPT) past.delete(past.keys().next().value);
        view.page = () => event.page;
        frame.savable();
      }
    });
    if (ended && note) asking.tell(note);
  }

  function request(methods) {
    const given = image ? { image: image.data, players: by("patches").value || "word" } : { text: text.value, pair: pair.value };
    if (!image) given.players = groups.size ? groups.positions() : by("players").value;
    const read = part === null || image ? {} : part === "cut" ? { cut: true } : { part };
    return { ...given, ...read, methods, target: image ? null : by("target").value || null, payoff: by("payoff").value || null };
  }

  function refused(message) {
    asking.stop();
    stale();
    brief.open();
    asking.tell(message);
  }

  asking.named = () => (!now ? "" : now.image ? `This is for the picture ${now.image.file.name}:` : `This is for the earlier text, “${short(now.text)}”:`);
  asking.cancel.addEventListener("click", brief.open);
  asking.leave = () => {
    const old = now?.blocks;
    old?.thin();
    return () => old?.arrange(old.order);
  };
  asking.failed = (error) => {
    brief.open();
    if (!error.long) return Asking.prototype.failed.call(asking, error);
    const beginning = element("button", { type: "button", className: "small" }, "Explain its beginning");
    beginning.addEventListener("click", () => readBeginning());
    asking.tell(`${error.message}.`, beginning);
  };

  function readBeginning() {
    part = "cut";
    groups.take(new Map());
    explain();
  }

  // What can be done with what is shown.

  function live(main) {
    const labels = now.image ? [] : main.querySelectorAll(".prediction dt");
    for (const label of labels) {
      if (label.querySelector("button")) continue;
      const name = label.textContent;
      const button = element("button", { type: "button", className: "label", title: `Explain ${name}`, ariaPressed: String(name === now.target) }, name);
      button.addEventListener("click", () => retarget(name));
      label.replaceChildren(button);
    }
    if (labels.length) what.offer(main.querySelector(".inspector"));
  }

  function retarget(label) {
    if (label === now.target) return frame.say(`${label} is what is explained.`);
    if (!offered(by("target"), label)) return asking.tell(`“${label}” cannot be chosen as a target here.`);
    explain();
  }

  const parts = partsOf(by("parts"), (wanted) => {
    if (wanted === "cut") return readBeginning();
    part = Number(wanted);
    groups.take(new Map());
    explain();
  });

  const groups = new Groups(by("groups").querySelector("ul"), explain);
  const ownerOf = (token) => document.getElementById(`p${token.dataset.p}`)?.cells[0].textContent;
  const changed = () => !image && now && !now.image && part === null && (text.value !== now.text || pair.value !== now.pair);

  function join(tokens) {
    if (changed()) return asking.tell("The text has changed. Explain it first, then join its words.");
    if (groups.join(tokens.map(ownerOf), now.tokens, by("players").value === "token")) explain();
  }
  const joiner = joining(result, { allowed: (token) => !token.classList.contains("special"), join, say: frame.say });
  by("join").addEventListener("click", () => {
    const token = result.querySelector(".lead .t.on");
    if (joiner.marked()) joiner.take();
    else if (token) joiner.joinNext(token);
    else frame.say("Choose a word of the large strip first.");
  });
  const what = whatIf({ shown: () => now, owner: () => ownerOf(result.querySelector(".lead .t.on") ?? result.querySelector(".t.on")) });

  // A picture takes the place of the text until it is taken away.

  let taken = 0;
  const drop = pictures(by("view-explain"), {
    able: Boolean(about.image),
    taken(data, file, note) {
      groups.take(new Map());
      part = null;
      withPicture({ data, file, number: `${performance.timeOrigin} ${(taken += 1)}` });
      explain({ note });
    },
    left() {
      asking.stop();
      withText();
      stale();
      brief.open();
      text.focus();
    },
    tell: (message) => refused(message),
  });

  function withPicture(given) {
    image = given;
    by("h-explain").textContent = "Which parts of the picture led to this prediction?";
  }

  function withText() {
    image = null;
    by("h-explain").textContent = "Which words led to this prediction?";
  }

  // What is shown no longer answers what is in the form.
  function stale() {
    asking.age(true);
    asking.tell("");
    view.page = null;
    frame.savable();
  }

  function renewed() {
    part = null;
    groups.take(new Map());
    drop.forget();
    withText();
  }
  for (const field of [text, pair])
    field.addEventListener("input", () => {
      renewed();
      asking.stop();
      stale();
    });
  by("pair-add").addEventListener("click", () => {
    by("second").hidden = !by("second").hidden;
    if (by("second").hidden) pair.value = "";
    by("pair-add").textContent = by("second").hidden ? "Add a second text" : "Without the second text";
    if (!by("second").hidden) pair.focus();
  });
  by("players").addEventListener("change", () => groups.take(new Map()));
  form.querySelector("details").addEventListener("change", () => now && stale());
  for (const field of [text, pair])
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    explain();
  });

  // What was shown before, if it is still there.
  function again(settled) {
    const found = past.get(settled);
    if (!found) return false;
    asking.stop();
    asking.tell("");
    now = found;
    by("parts").replaceChildren(...found.parts);
    by("parts").hidden = !found.parts.length;
    by("groups").hidden = Boolean(found.image);
    found.blocks.show();
    asking.age(false);
    what.forget();
    brief.shrink();
    view.page = () => found.page;
    frame.savable();
    return true;
  }

  function againPicture(number) {
    const [settled, found] = [...past].find(([, each]) => each.image?.number === number) ?? [];
    if (!found) return frame.say("A link cannot carry a picture: drop it once more.");
    drop.show(found.image.file);
    withPicture(found.image);
    again(settled);
  }

  const view = {
    holds: ["text", "pair", "methods", ...CHOICES, "part", "groups"],
    page: null,
    enter(query) {
      if (history.state?.picture) return againPicture(history.state.picture);
      if (!query.has("text")) return begun && frame.remember("explain", settings(), { state: image && { picture: image.number } });
      const long = tooLong(text, query.get("text")) || tooLong(pair, query.get("pair") ?? "");
      if (long) return refused(long);
      const lost = restore(query);
      const note = lost.length ? `This link asks for what is not available here: ${lost.join(", ")}` : "";
      if (again(key())) asking.tell(note);
      else explain({ note, step: false });
    },
    unlinkable: () => (image ? "A link cannot carry a picture. Save as HTML keeps it." : ""),
  };
  return view;
}
