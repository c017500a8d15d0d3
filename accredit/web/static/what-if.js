// What if: the text without a word, with another one, or edited at will, beside the text as it is.
import { Asking, element, put } from "/static/page-parts.js";

// The text without the characters of a player, or with others in their place. Positions count characters, not UTF-16 units.
export function changedText(text, spans, put = "") {
  const characters = [...text];
  const [start] = spans[0] ?? [0];
  for (const [a, b] of spans) for (let k = a; k < b; k++) characters[k] = "";
  if (spans.length) characters[start] = put;
  return characters.join("").replace(/ {2,}/g, " ").replace(/ +([,.;:!?])/g, put ? "$&" : "$1").trim();
}

export function whatIf({ shown, owner }) {
  const by = (id) => document.getElementById(id);
  const [box, form, field, result, opener] = ["what-if-box", "what-if-form", "changed", "what-if-result", "what-if"].map(by);
  const asking = new Asking(form, result);

  function open(text) {
    box.hidden = false;
    opener.setAttribute("aria-expanded", "true");
    field.value = text;
  }

  function forget() {
    asking.stop();
    asking.tell("");
    asking.age(false);
    box.hidden = true;
    opener.setAttribute("aria-expanded", "false");
    result.replaceChildren();
  }

  async function compare() {
    const { text, pair, asked, target } = shown();
    const changed = field.value;
    if (!changed.trim()) return asking.tell("Leave at least one word to compare with.");
    if (changed === text) return asking.tell("Both texts are the same: change a word first.");
    const [method] = asked.methods;
    const players = typeof asked.players === "string" ? asked.players : "word";
    const request = { text, changed, pair, changed_pair: pair, method, target, players, payoff: asked.payoff };
    await asking.run("/api/what-if", request, (event) => {
      if (event.event !== "result") return;
      put(result, ...event.made);
      result.scrollIntoView({ block: "nearest" });
    });
  }

  // The characters of a player, in its own text.
  function spansOf(player) {
    return shown().tokens.filter(([, own, special, , , part]) => own === player && !special && !part).map(([, , , a, b]) => [a, b]);
  }

  function change(put) {
    const player = owner();
    const spans = player === undefined ? [] : spansOf(player);
    open(shown().text);
    if (!spans.length) return asking.tell("Choose a word of the text first; those of a second text are not changed here.");
    field.value = changedText(shown().text, spans, put);
    const panel = shown().blocks.main.querySelector(".inspector");
    if (getComputedStyle(panel).position === "fixed") panel.querySelector(":scope > button").click(); // it would lie on the answer
    compare();
  }

  // What can be done with the word whose numbers are shown.
  function offer(inspector) {
    if (!inspector || inspector.querySelector(".acts")) return;
    const without = element("button", { type: "button", className: "small" }, "Without it");
    const word = element("input", { type: "text", maxLength: 200, ariaLabel: "Another word in its place", placeholder: "another word" });
    const other = element("button", { type: "submit", className: "small" }, "Replace");
    const acts = element("form", { className: "acts" }, element("span", { className: "small soft" }, "What if…"), without, word, other);
    without.addEventListener("click", () => change(""));
    acts.addEventListener("submit", (event) => {
      event.preventDefault();
      if (word.value.trim()) change(word.value.trim());
      else word.focus();
    });
    acts.addEventListener("keydown", (event) => event.stopPropagation()); // letters typed here join no words
    inspector.append(acts);
  }

  opener.addEventListener("click", () => {
    if (!box.hidden) return forget();
    open(shown().text);
    field.focus();
  });
  field.addEventListener("input", () => asking.age());
  asking.named = () => "This compares with an earlier change:";
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    compare();
  });
  return { offer, forget };
}
