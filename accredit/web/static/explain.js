// Explain: a text or a picture in, coloured strips out, method by method; words can be joined into players.
import { Asking, element, nodes, put } from "/static/page-parts.js";

const EXAMPLE = "A gripping, beautifully shot film that never lands.";
const CHOICES = ["target", "players", "payoff"];

export function explainView(about, frame) {
  const by = (id) => document.getElementById(id);
  const form = by("explain-form");
  const text = by("text");
  const result = by("explain-result");
  const groupsBox = by("groups");
  const asking = new Asking(form);
  let tokens = []; // [shown, player, special] of what is on the page
  let groups = {}; // name -> token positions
  let image = null;
  let begun = false;

  text.value = EXAMPLE;
  for (const method of new Set([...(about.default ?? []), ...(about.methods ?? [])])) {
    const box = element("input", { type: "checkbox", value: method, checked: about.default.includes(method) });
    by("methods").append(element("label", {}, box, ` ${method}`));
  }
  for (const label of about.text?.labels ?? []) by("target").append(element("option", { value: label }, label));
  if (!about.image) form.querySelector(".file").hidden = true;

  const chosen = () => [...form.querySelectorAll("#methods input:checked")].map((box) => box.value);

  function settings() {
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

  // Each result is a fresh <main>, and the script of the saved page is run on it: both show tokens the same way.
  function place(event) {
    const focused = document.activeElement?.closest?.("#explain-result .t");
    const strips = [...result.querySelectorAll(".strip")];
    const back = focused && [strips.indexOf(focused.closest(".strip")), focused.dataset.p];
    const opened = [...result.querySelectorAll("details")].map((d) => d.open);
    const main = put(result, element("h1", {}, event.title), ...nodes(event.html));
    tokens = event.tokens;
    if (opened.length === main.querySelectorAll("details").length)
      main.querySelectorAll("details").forEach((d, k) => (d.open = opened[k]));
    groupsBox.hidden = !main.querySelector(".lead .t") || !tokens.length;
    if (!main.querySelector(".numbers table")) return;
    const script = element("script", { src: "/static/page.js" });
    script.addEventListener("load", () => {
      script.remove();
      if (back) main.querySelectorAll(".strip")[back[0]]?.querySelector(`.t[data-p="${back[1]}"]`)?.focus();
    });
    main.append(script);
  }

  async function explain() {
    begun = true;
    const methods = chosen();
    if (!methods.length) return asking.tell("Choose at least one method.");
    if (!image) frame.remember("explain", settings());
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
    await asking.run("/api/explain", asked, (event) => {
      if (event.event === "result") place(event);
      if (event.event === "done") {
        view.page = () => event.page;
        frame.savable();
      }
    });
    result.classList.remove("stale");
  }

  // Groups: names of players from -> to of the large strip become one player.

  function positions(players) {
    return tokens.flatMap(([, player, special], k) => (!special && players.has(player) ? [k] : []));
  }

  function join(players) {
    if (players.size < 2) return;
    const where = positions(players);
    const name = where.map((k) => tokens[k][0]).join(" ").slice(0, 80);
    const taken = new Set(where);
    groups = Object.fromEntries(Object.entries(groups).filter(([, old]) => !old.some((k) => taken.has(k))));
    const unit = by("players").value;
    if (!Object.keys(groups).length && unit !== "token") {
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
      ...Object.keys(groups).map((name) => {
        const button = element("button", { type: "button", ariaLabel: `Take apart ${name}` }, "✕");
        button.addEventListener("click", () => {
          delete groups[name];
          listGroups();
          explain();
        });
        return element("li", {}, name, button);
      }),
    );
  }

  const leadTokens = () => [...result.querySelectorAll(".lead .t")];
  const ownerOf = (token) => {
    const row = document.getElementById(`p${token.dataset.p}`);
    return row?.cells[0].textContent;
  };
  const special = (player) => tokens.some(([, owner, is]) => is && owner === player);

  function between(from, to) {
    const all = leadTokens();
    const [a, b] = [all.indexOf(from), all.indexOf(to)].sort((x, y) => x - y);
    return a < 0 ? [] : all.slice(a, b + 1).filter((token) => !special(ownerOf(token)));
  }

  let from = null;
  result.addEventListener("dragstart", (event) => event.preventDefault());
  result.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) from = event.target.closest(".lead .t");
  });
  result.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = event.target.closest(".lead .t");
    const range = to ? between(from, to) : [];
    for (const token of leadTokens()) token.classList.toggle("joining", range.length > 1 && range.includes(token));
  });
  addEventListener("pointerup", (event) => {
    const to = from && event.target.closest?.("#explain-result .lead .t");
    const range = to ? between(from, to) : [];
    from = null;
    for (const token of leadTokens()) token.classList.remove("joining");
    if (range.length > 1) join(new Set(range.map(ownerOf)));
  });

  function joinNext(token) {
    const all = leadTokens();
    const here = all.find((other) => other.dataset.p === token?.dataset.p);
    const next = here && all.slice(all.indexOf(here) + 1).find((other) => other.dataset.p !== here.dataset.p);
    if (next) join(new Set(between(here, next).map(ownerOf)));
  }
  result.addEventListener("keydown", (event) => {
    const token = event.target.closest(".t");
    if (token && event.key.toLowerCase() === "g" && !event.ctrlKey && !event.metaKey) joinNext(token);
  });
  by("join").addEventListener("click", () => {
    const token = result.querySelector(".lead .t.on");
    if (token) joinNext(token);
    else asking.tell("Choose a word of the large strip first.");
  });

  // Pictures

  async function take(file) {
    if (!file) return;
    const bytes = new Uint8Array(await file.arrayBuffer());
    let binary = "";
    for (let k = 0; k < bytes.length; k += 32768) binary += String.fromCharCode(...bytes.subarray(k, k + 32768));
    image = btoa(binary);
    by("image-name").textContent = file.name;
    explain();
  }
  by("image").addEventListener("change", (event) => take(event.target.files[0]));
  const section = by("view-explain");
  section.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("dropping");
  });
  section.addEventListener("dragleave", () => form.classList.remove("dropping"));
  section.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("dropping");
    take(event.dataTransfer.files[0]);
  });

  function forget() {
    groups = {};
    image = null;
    by("image").value = by("image-name").textContent = "";
    listGroups();
  }
  text.addEventListener("input", forget);
  by("players").addEventListener("change", forget);
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
      else if (begun && !image) frame.remember("explain", settings());
    },
  };
  return view;
}
