// Explain: a text or a picture in, coloured strips out, method by method; words can be joined into players.
import { Asking, Blocks, element, pick } from "/static/page-parts.js";
import { joining } from "/static/joining.js";
import { pictures } from "/static/pictures.js";

const EXAMPLES = [
  "A gripping, beautifully shot film that never lands.",
  "Not bad at all, in fact rather wonderful.",
  "The acting is superb, but the story is dull and far too long.",
];
const CHOICES = ["target", "players", "payoff"];

const LONGEST = 80; // characters of a name, as the server allows
const short = (name) => [...name].slice(0, LONGEST).join(""); // by characters: half of an emoji is none

function unlike(name, taken) {
  let other = name;
  for (let k = 2; taken(other); k++) other = `${[...name].slice(0, LONGEST - 6).join("")} (${k})`;
  return other;
}

const positionsOf = (groups) => Object.fromEntries([...groups].map(([name, parts]) => [name, parts.flatMap(([, own]) => own)]));

// Groups as a link holds them; anything else in it raises.
function groupsFrom(link) {
  const sound = ([name, parts]) => [name, parts.map(([player, own]) => [String(player), own.map(Number)])];
  return new Map(link.map(sound));
}

export function explainView(about, frame) {
  const by = (id) => document.getElementById(id);
  const form = by("explain-form");
  const text = by("text");
  const result = by("explain-result");
  const groupsBox = by("groups");
  const asking = new Asking(form, result);
  const blocks = new Blocks(result);
  let tokens = []; // [shown, player, special] of what is on the page
  let explained = null; // the text that they are from
  let groups = new Map(); // name -> the players that play as one, each with its token positions: [[player, positions], …]
  let image = null;
  let begun = false;
  let shown = ""; // the settings of the last result that came to its end

  text.value = EXAMPLES[0];
  // Methods with one number per player are for games whose size is known before; the usual ones come first.
  const place = (method) => (about.default ?? []).indexOf(method.name) >>> 0; // those that are not there come last
  const listed = (about.methods ?? []).filter((method) => !method.parameters?.per_player);
  const [first, others] = by("methods").querySelectorAll(".checks");
  for (const method of listed.toSorted((a, b) => place(a) - place(b))) {
    const box = element("input", { type: "checkbox", value: method.spelled, checked: about.default.includes(method.name) });
    (method.estimates ? others : first).append(element("label", { title: method.note }, box, ` ${method.spelled}`));
  }
  for (const label of about.text?.labels ?? []) by("target").append(element("option", { value: label }, label));
  if (!about.image) form.querySelector(".file").hidden = true;
  if (about.builtin)
    for (const example of EXAMPLES) {
      const button = element("button", { type: "button", className: "example" }, example);
      button.addEventListener("click", () => {
        text.value = example;
        forget();
        explain();
      });
      by("examples").append(button);
    }
  by("examples").hidden = !about.builtin;

  const chosen = () => [...form.querySelectorAll("#methods input:checked")].map((box) => box.value);

  function settings() {
    if (image) return {}; // a picture is too large for a link
    const methods = chosen();
    const usual = methods.join() === (about.default ?? []).join();
    return {
      text: text.value,
      methods: usual ? "" : methods.join(),
      ...Object.fromEntries(CHOICES.map((id) => [id, id === "players" && by(id).value === "word" ? "" : by(id).value])),
      groups: groups.size ? JSON.stringify([...groups]) : "",
    };
  }

  // Takes what a link says; returns the parts of it that no longer exist.
  function restore(query) {
    forget();
    text.value = query.get("text");
    const methods = query.get("methods")?.split(/,(?!\d)/) ?? about.default;
    for (const box of form.querySelectorAll("#methods input")) box.checked = methods.includes(box.value);
    const lost = CHOICES.filter((id) => !pick(by(id), query.get(id)) && query.get(id));
    try {
      groups = groupsFrom(JSON.parse(query.get("groups") ?? "[]"));
    } catch {
      lost.push("groups");
    }
    listGroups();
    return lost;
  }

  async function explain(note = "") {
    begun = true;
    const methods = chosen();
    if (!methods.length) return asking.tell("Choose at least one method.");
    frame.remember("explain", settings());
    view.page = null;
    frame.savable();
    const asked = {
      text: image ? "" : text.value,
      image,
      methods,
      players: !image && groups.size ? positionsOf(groups) : by("players").value,
      target: image ? null : by("target").value || null,
      payoff: by("payoff").value || null,
    };
    const settled = JSON.stringify(settings());
    let first = true;
    const ended = await asking.run("/api/explain", asked, (event) => {
      if (event.event === "result") {
        if (first) joiner.forget();
        blocks.take(event, first);
        first = false;
        tokens = event.tokens;
        explained = asked.text;
        groupsBox.hidden = !tokens.length || !result.querySelector(".lead .t");
      }
      if (event.event === "done") {
        view.page = () => event.page;
        shown = settled;
        frame.savable();
      }
    });
    if (ended && note) frame.say(note);
  }

  // Groups: the players of some tokens of the large strip become one player.

  const ownerOf = (token) => document.getElementById(`p${token.dataset.p}`)?.cells[0].textContent;

  function join(chosen) {
    if (text.value !== explained) return asking.tell("The text has changed. Explain it first, then join its words.");
    const players = new Set(chosen.map(ownerOf));
    if (players.size < 2) return;
    const positions = new Map(); // player -> its tokens
    tokens.forEach(([, player, special], k) => special || positions.set(player, [...(positions.get(player) ?? []), k]));
    if (!groups.size && by("players").value !== "token") // words of several tokens stay together
      for (const [player, own] of positions) if (own.length > 1) groups.set(short(player), [[short(player), own]]);
    const parts = [...players].flatMap((player) => groups.get(short(player)) ?? [[short(player), positions.get(player)]]);
    for (const player of players) {
      groups.delete(short(player));
      positions.delete(player);
    }
    parts.sort(([, a], [, b]) => a[0] - b[0]);
    const words = parts.map(([player]) => player.replace(/ \(\d+\)$/, "")); // the second "so" is called "so (2)"
    groups.set(unlike(short(words.join(" ")), (name) => groups.has(name) || positions.has(name)), parts);
    listGroups();
    explain();
  }

  function listGroups() {
    const joined = [...groups].filter(([, parts]) => parts.length > 1);
    groupsBox.querySelector("ul").replaceChildren(
      ...joined.map(([name]) => element("li", {}, name, element("button", { type: "button", ariaLabel: `Take apart ${name}`, value: name }, "✕"))),
    );
  }
  groupsBox.querySelector("ul").addEventListener("click", (event) => {
    const name = event.target.closest("button")?.value;
    if (!groups.has(name)) return;
    const parts = groups.get(name);
    groups.delete(name);
    for (const [player, own] of parts) if (own.length > 1) groups.set(player, [[player, own]]);
    if (![...groups.values()].some((others) => others.length > 1)) groups.clear();
    listGroups();
    explain();
  });

  const joiner = joining(result, { allowed: (token) => !token.classList.contains("special"), join, say: frame.say });
  by("join").addEventListener("click", () => {
    const token = result.querySelector(".lead .t.on");
    if (joiner.marked()) joiner.take();
    else if (token) joiner.joinNext(token);
    else asking.tell("Choose a word of the large strip first.");
  });

  // A picture takes the place of the text until it is taken away.

  const drop = pictures(by("view-explain"), {
    able: about.image,
    taken(data, note) {
      image = data;
      groups = new Map();
      listGroups();
      by("h-explain").textContent = "Which patches earned the answer?";
      explain(note);
    },
    left() {
      asking.stop();
      withText();
    },
    tell: (message) => asking.tell(message),
  });

  function withText() {
    image = null;
    by("h-explain").textContent = "Which words earned the answer?";
  }

  function forget() {
    groups = new Map();
    drop.forget();
    withText();
    listGroups();
  }
  text.addEventListener("input", forget);
  by("players").addEventListener("change", () => {
    groups = new Map();
    listGroups();
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    explain();
  });

  const view = {
    page: null,
    enter(query) {
      if (!query.has("text")) return begun && frame.remember("explain", settings());
      const lost = restore(query);
      if (view.page && JSON.stringify(settings()) === shown) return; // it is still here
      explain(lost.length ? `This link asks for something that is not available here: ${lost.join(", ")}.` : "");
    },
    unlinkable: () => (image ? "A link cannot carry a picture. Save as HTML keeps it." : ""),
  };
  return view;
}
