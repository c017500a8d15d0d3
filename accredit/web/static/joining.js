// Joining words of the large strip into one player: drag across them with mouse, pen or finger, or mark them with Shift and the
// arrow keys and press G. The listeners sit on the container; tokens have none.
import { element, LONGEST } from "/static/page-parts.js";

const short = (name) => [...name].slice(0, LONGEST).join(""); // by characters: half of an emoji is none

function unlike(name, taken) {
  let other = name;
  for (let k = 2; taken(other); k++) other = `${[...name].slice(0, LONGEST - 6).join("")} (${k})`;
  return other;
}

// Groups as a link holds them; anything else in it raises.
export function groupsFrom(link) {
  const sound = ([name, parts]) => [name, parts.map(([player, own]) => [String(player), own.map(Number)])];
  return new Map(link.map(sound));
}

// Which players play as one: name -> its players, each with its token positions: [[player, positions], …].
export class Groups {
  constructor(list, again) {
    this.list = list;
    this.own = new Map();
    list.addEventListener("click", (event) => {
      const name = event.target.closest("button")?.value;
      if (this.own.has(name)) this.part(name), again();
    });
  }

  get size() {
    return this.own.size;
  }

  take(groups) {
    this.own = groups;
    this.draw();
  }

  written() {
    return this.own.size ? JSON.stringify([...this.own]) : "";
  }

  positions() {
    return Object.fromEntries([...this.own].map(([name, parts]) => [name, parts.flatMap(([, own]) => own)]));
  }

  // Joins some players of a text; returns whether there was anything to join. Words of several tokens stay together.
  join(names, tokens, single) {
    const players = new Set(names);
    if (players.size < 2) return false;
    const positions = new Map(); // player -> its tokens
    tokens.forEach(([, player, special], k) => special || positions.set(player, [...(positions.get(player) ?? []), k]));
    if (!this.own.size && !single) for (const [player, own] of positions) if (own.length > 1) this.own.set(short(player), [[short(player), own]]);
    const parts = [...players].flatMap((player) => this.own.get(short(player)) ?? [[short(player), positions.get(player)]]);
    for (const player of players) {
      this.own.delete(short(player));
      positions.delete(player);
    }
    parts.sort(([, a], [, b]) => a[0] - b[0]);
    const words = parts.map(([player]) => player.replace(/ \(\d+\)$/, "")); // the second "so" is called "so (2)"
    this.own.set(unlike(short(words.join(" ")), (name) => this.own.has(name) || positions.has(name)), parts);
    this.draw();
    return true;
  }

  part(name) {
    const parts = this.own.get(name);
    this.own.delete(name);
    for (const [player, own] of parts) if (own.length > 1) this.own.set(player, [[player, own]]);
    if (![...this.own.values()].some((others) => others.length > 1)) this.own.clear();
    this.draw();
  }

  draw() {
    const joined = [...this.own].filter(([, parts]) => parts.length > 1);
    const apart = (name) => element("button", { type: "button", ariaLabel: `Take apart ${name}`, value: name }, "✕");
    this.list.replaceChildren(...joined.map(([name]) => element("li", {}, name, apart(name))));
  }
}

export function joining(container, { allowed, join, say }) {
  const token = (node) => node?.closest?.(".lead .t");
  const tokens = () => [...container.querySelectorAll(".lead .t")]; // asked anew each time: a method that arrives renews them
  let from = -1; // where the drag began
  let anchor = -1; // where marking by keys began
  let marked = [];

  function mark(a, b) {
    const [first, last] = a < b ? [a, b] : [b, a];
    const wanted = a < 0 || b < 0 ? [] : tokens().slice(first, last + 1).filter(allowed);
    const next = wanted.length > 1 ? wanted : [];
    for (const old of marked) if (!next.includes(old)) old.classList.remove("joining");
    for (const one of next) one.classList.add("joining");
    marked = next;
  }

  function take() {
    const chosen = marked;
    forget();
    if (chosen.length > 1) join(chosen);
  }

  function forget() {
    for (const old of marked) old.classList.remove("joining");
    marked = [];
    from = anchor = -1;
  }

  // A finger stays bound to the token it touched first, so the page is asked what lies under it.
  function under(event) {
    const node = document.elementFromPoint(event.clientX, event.clientY);
    return container.contains(node) ? { token: token(node), inside: Boolean(node.closest(".lead")) } : { inside: false };
  }

  container.addEventListener("dragstart", (event) => event.preventDefault());
  container.addEventListener("pointerdown", (event) => {
    if (!event.isPrimary || event.button !== 0) return;
    forget();
    from = tokens().indexOf(token(event.target));
  });
  addEventListener("pointermove", (event) => {
    if (from < 0 || !event.isPrimary) return;
    const at = under(event);
    if (at.token) mark(from, tokens().indexOf(at.token));
    else if (!at.inside) mark(-1, -1);
  });
  addEventListener("pointerup", (event) => from >= 0 && event.isPrimary && take());
  addEventListener("pointercancel", () => from >= 0 && forget());

  function joinNext(here) {
    const all = tokens();
    const own = all.findIndex((other) => other.dataset.p === here.dataset.p);
    const next = all.findIndex((other, k) => k > own && other.dataset.p !== here.dataset.p);
    if (own >= 0 && next >= 0) mark(own, next);
    if (marked.length) take();
    else say("There is no next word to join this one with.");
  }

  container.addEventListener("keydown", (event) => {
    const here = token(event.target) ?? event.target.closest(".t");
    if (!here || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.toLowerCase() === "g") return marked.length > 1 ? take() : joinNext(here);
    if (event.key === "Escape") return forget();
    if (!event.key.startsWith("Arrow") && event.key !== "Home" && event.key !== "End") return;
    if (!event.shiftKey) return forget();
    const all = tokens();
    if (anchor < 0) anchor = all.indexOf(here); // the focus has moved on already
    mark(anchor, all.indexOf(token(document.activeElement)));
    if (marked.length) say(`${marked.length} words marked; G joins them`);
  });

  return { joinNext, marked: () => marked.length > 1, take, forget };
}
