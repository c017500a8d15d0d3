// Explain: a text or a picture in, coloured strips out, method by method; words can be joined into players.
import { Asking, Blocks, element } from "/static/page-parts.js";
import { joining } from "/static/joining.js";
import { pictures } from "/static/pictures.js";

const EXAMPLES = [
  "A gripping, beautifully shot film that never lands.",
  "Not bad at all, in fact rather wonderful.",
  "The acting is superb, but the story is dull and far too long.",
];
const CHOICES = ["target", "players", "payoff"];

export function explainView(about, frame) {
  const by = (id) => document.getElementById(id);
  const form = by("explain-form");
  const text = by("text");
  const result = by("explain-result");
  const groupsBox = by("groups");
  const asking = new Asking(form);
  const blocks = new Blocks(result);
  let tokens = []; // [shown, player, special] of what is on the page
  let groups = {}; // name -> token positions
  let image = null;
  let begun = false;

  text.value = EXAMPLES[0];
  for (const method of new Set([...(about.default ?? []), ...(about.methods ?? [])])) {
    const box = element("input", { type: "checkbox", value: method, checked: about.default.includes(method) });
    by("methods").append(element("label", {}, box, ` ${method}`));
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
      groups: Object.keys(groups).length ? JSON.stringify(groups) : "",
    };
  }

  function restore(query) {
    if (!query.has("text")) return false;
    forget();
    text.value = query.get("text");
    const methods = query.get("methods")?.split(",") ?? about.default;
    for (const box of form.querySelectorAll("#methods input")) box.checked = methods.includes(box.value);
    for (const id of CHOICES) by(id).value = query.get(id) ?? by(id).options[0].value;
    try {
      groups = JSON.parse(query.get("groups") ?? "{}");
    } catch {
      groups = {};
    }
    listGroups();
    return true;
  }

  async function explain(note = "") {
    begun = true;
    const methods = chosen();
    if (!methods.length) return asking.tell("Choose at least one method.");
    frame.remember("explain", settings());
    view.page = null;
    frame.savable();
    result.classList.add("stale");
    const asked = {
      text: image ? "" : text.value,
      image,
      methods,
      players: !image && Object.keys(groups).length ? groups : by("players").value,
      target: image ? null : by("target").value || null,
      payoff: by("payoff").value || null,
    };
    let first = true;
    await asking.run("/api/explain", asked, (event) => {
      if (event.event === "result") {
        blocks.take(event, first);
        first = false;
        tokens = event.tokens;
        groupsBox.hidden = !tokens.length || !result.querySelector(".lead .t");
      }
      if (event.event === "done") {
        view.page = () => event.page;
        frame.savable();
      }
    });
    result.classList.remove("stale");
    if (note) frame.say(note);
  }

  // Groups: the players of some tokens of the large strip become one player.

  const ownerOf = (token) => document.getElementById(`p${token.dataset.p}`)?.cells[0].textContent;

  function join(chosen) {
    const players = new Set(chosen.map(ownerOf));
    if (players.size < 2) return;
    const where = tokens.flatMap(([, player, special], k) => (!special && players.has(player) ? [k] : []));
    const name = where.map((k) => tokens[k][0]).join(" ").slice(0, 80);
    const taken = new Set(where);
    groups = Object.fromEntries(Object.entries(groups).filter(([, old]) => !old.some((k) => taken.has(k))));
    if (!Object.keys(groups).length && by("players").value !== "token") {
      // Words of several tokens stay together when named groups replace the unit.
      const words = new Map();
      tokens.forEach(([, player, special], k) => special || taken.has(k) || words.set(player, [...(words.get(player) ?? []), k]));
      for (const [player, own] of words) if (own.length > 1) groups[player.slice(0, 80)] = own;
    }
    groups[name] = where;
    listGroups();
    explain();
  }

  function listGroups() {
    groupsBox.querySelector("ul").replaceChildren(
      ...Object.keys(groups).map((name) => element("li", {}, name, element("button", { type: "button", ariaLabel: `Take apart ${name}`, value: name }, "✕"))),
    );
  }
  groupsBox.querySelector("ul").addEventListener("click", (event) => {
    const name = event.target.closest("button")?.value;
    if (!name) return;
    delete groups[name];
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
      groups = {};
      listGroups();
      by("h-explain").textContent = "Which patches earned the answer?";
      explain(note);
    },
    left: () => withText(),
    tell: (message) => asking.tell(message),
  });

  function withText() {
    image = null;
    by("h-explain").textContent = "Which words earned the answer?";
  }

  function forget() {
    groups = {};
    drop.forget();
    withText();
    listGroups();
  }
  text.addEventListener("input", forget);
  by("players").addEventListener("change", () => {
    groups = {};
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
      if (restore(query)) explain();
      else if (begun) frame.remember("explain", settings());
    },
    unlinkable: () => (image ? "A link cannot carry a picture. Save as HTML keeps it." : ""),
  };
  return view;
}
