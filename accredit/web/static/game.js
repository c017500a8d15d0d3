// Game: a table of coalitions and payoffs; everything that follows from it is computed again as you type.
import { ask, Problem, reason } from "/static/stream.js";
import { element, later, LONGEST, nodes, pick, put, sentence, short } from "/static/page-parts.js";
import { sortable } from "/static/sorting.js";
import { tableFile, takesFiles } from "/static/table.js";

const MOST = 8; // players in the table: 256 rows
const EXAMPLES = {
  Pricing: {
    players: ["A", "B", "C"],
    payoffs: [0, 50, 20, 75, 25, 80, 90, 100],
    story: "Three data sets for sale. The two highest values are not the best pair to buy.",
  },
  "Matched pair": {
    players: ["easy rows", "d_A", "d_B"],
    payoffs: [50, 88, 50, 86, 50, 86, 96, 98],
    story: "Test accuracy in percent, made up: each critical row harms the easy rows when it comes alone, and helps with its partner.",
  },
  "Corner detector": {
    players: ["top left", "top right", "bottom left", "bottom right"],
    payoffs: Array.from({ length: 16 }, (_, mask) => Number((mask & 7) === 7)),
    story: "Fires when three pixels are all lit. Three equal thirds hide an AND; the fourth pixel never matters.",
  },
  Cookies: {
    players: ["Alice", "Bob"],
    payoffs: [0, 5, 3, 10],
    story: "Alice bakes 5 alone, Bob 3, and together they bake 10.",
  },
};

export function gameView(about, frame) {
  const by = (id) => document.getElementById(id);
  const form = by("game-form");
  const rows = by("game-rows");
  const result = by("game-result");
  const problem = form.querySelector(".problem");
  const memory = new Map(); // how tables are sorted
  let players = [];
  let payoffs = [];
  let refused = ""; // what was wrong with the last file or link, until something else is done
  let sorted = "size"; // or "payoff", highest first; or "rising"
  let controller = null;

  // What a method needs besides its name: parameters after a colon, groups to divide inside, or who comes before whom.
  const methods = new Map((about.games ?? []).map((method) => [method.name, method]));
  const groups = new Map(); // what they are good for -> the methods
  for (const [name, { title, words, group }] of [["shapley", methods.get("shapley") ?? { title: "Shapley", words: "", group: "" }], ...[...methods].filter(([each]) => each !== "shapley")]) {
    if (!groups.has(group)) groups.set(group, element("optgroup", { label: group }));
    groups.get(group).append(element("option", { value: name }, words ? `${title}: ${words}` : title));
  }
  by("game-method").append(...groups.values());
  const chosen = () => methods.get(by("game-method").value);

  function offer(given) {
    const { parameters, groups, order } = chosen() ?? {};
    by("game-more").hidden = !parameters && !groups && !order;
    by("game-more").querySelector("span").textContent = groups ? "Groups, such as pair=A+B" : order ? "Order, such as A, B < C" : "Parameters";
    const equal = players.map(() => 2 ** (1 - players.length)).join(","); // all coalitions alike: Banzhaf's weights
    by("game-given").value = given ?? (groups ? players.slice(0, 2).join("+") : order ? players.slice(0, 2).join(" < ") : parameters?.per_player ? equal : (parameters?.example ?? ""));
  }

  function asked() {
    const method = by("game-method").value;
    const { parameters, groups, order } = chosen() ?? {};
    const given = by("game-given").value.trim();
    return { method: parameters && given ? `${method}:${given}` : method, groups: groups ? given : null, order: order ? given : null };
  }

  const settings = () => ({
    players: JSON.stringify(players),
    payoffs: payoffs.join(","),
    method: by("game-method").value,
    given: by("game-more").hidden ? "" : by("game-given").value,
  });

  function tell(message) {
    problem.textContent = sentence(message);
    problem.hidden = !message;
  }

  const named = (mask) => players.filter((_, k) => (mask >> k) & 1).join(" + ") || "nobody";

  // Numbers as they are written everywhere on the page, with a true minus; both kinds are understood.
  const written = (number) => String(number).replace("-", "−");
  const read = (text) => (text.trim() === "" ? NaN : Number(text.trim().replace(/[−–]/, "-")));

  function fill() {
    const order = payoffs.map((_, mask) => mask);
    const size = (mask) => mask.toString(2).replaceAll("0", "").length;
    const ways = { size: (a, b) => size(a) - size(b) || a - b, payoff: (a, b) => payoffs[b] - payoffs[a] || a - b, rising: (a, b) => payoffs[a] - payoffs[b] || a - b };
    order.sort(ways[sorted]);
    const heads = { size: [by("game-by-size"), "ascending"], payoff: [by("game-by-payoff"), "descending"], rising: [by("game-by-payoff"), "ascending"] };
    for (const head of form.parentElement.querySelectorAll(".coalitions th")) head.removeAttribute("aria-sort");
    heads[sorted][0].closest("th").setAttribute("aria-sort", heads[sorted][1]);
    rows.replaceChildren(
      ...order.map((mask) => {
        const input = element("input", { type: "text", inputMode: "decimal", value: written(payoffs[mask]), required: true });
        input.dataset.mask = mask;
        input.setAttribute("aria-label", `payoff of ${named(mask)}`);
        return element("tr", {}, element("td", {}, named(mask)), element("td", {}, input));
      }),
    );
  }

  // What is shown no longer matches the table.
  function outdated() {
    controller?.abort();
    view.page = null;
    frame.savable();
  }

  async function compute() {
    outdated();
    const empty = rows.querySelector("input:invalid");
    if (empty) return unsolved(`The ${empty.getAttribute("aria-label")} is not a number.`);
    frame.remember("game", settings());
    const own = (controller = new AbortController());
    try {
      const answer = await ask("/api/game", { players, payoffs, ...asked() }, own.signal);
      const made = await nodes(answer.html);
      if (own.signal.aborted) return;
      sortable(put(result, ...made), memory);
      view.page = () => answer.page;
      frame.savable();
      tell(refused);
    } catch (error) {
      if (!own.signal.aborted) unsolved(reason(error));
    }
  }

  // What is shown belongs to an earlier table.
  function unsolved(message) {
    result.classList.toggle("stale", Boolean(result.firstElementChild));
    tell(message);
  }

  function take(game, story = "") {
    players = [...game.players];
    payoffs = [...game.payoffs];
    by("game-players").value = players.join(", ");
    by("game-story").textContent = story;
    for (const button of form.querySelectorAll(".examples button"))
      button.setAttribute("aria-pressed", String(EXAMPLES[button.textContent].story === story));
    fill();
    compute();
  }

  for (const name of Object.keys(EXAMPLES)) {
    const button = element("button", { type: "button" }, name);
    button.addEventListener("click", () => ((refused = ""), take(EXAMPLES[name], EXAMPLES[name].story)));
    form.querySelector(".examples").append(button);
  }

  const soon = later(120, compute);
  rows.addEventListener("input", (event) => {
    outdated();
    refused = "";
    const given = read(event.target.value);
    event.target.setCustomValidity(Number.isFinite(given) ? "" : "not a number");
    if (Number.isFinite(given)) payoffs[Number(event.target.dataset.mask)] = given;
    soon();
  });
  rows.addEventListener("change", (event) => {
    if (event.target.validity.valid) event.target.value = written(payoffs[Number(event.target.dataset.mask)]);
  });
  by("game-by-size").addEventListener("click", () => ((sorted = "size"), fill()));
  by("game-by-payoff").addEventListener("click", () => ((sorted = sorted === "payoff" ? "rising" : "payoff"), fill()));
  takesFiles(by("view-game"), by("game-file"), async (file) => {
    refused = "";
    try {
      if (!file.name.toLowerCase().endsWith(".json")) await tableFile(file, 200_000);
      const game = await ask("/api/game/file", { table: await file.text(), name: file.name });
      if (game.players.length > MOST) throw new Problem(`${file.name} has ${game.players.length} players, and this page takes ${MOST}. Use the command for more.`);
      take(game, `From ${file.name}. ${game.note}`);
    } catch (error) {
      refused = reason(error);
      tell(refused);
    }
  });
  // A name that a table of coalitions, or a spreadsheet, would read as something else goes into JSON instead.
  by("game-save").addEventListener("click", () => {
    const plain = players.every((name) => !/[+"\r\n]|^[=@'\-\t]/.test(name));
    const quoted = (text) => (/[,\s]/.test(text) ? `"${text}"` : text);
    const who = (mask) => players.filter((_, k) => (mask >> k) & 1);
    const content = plain
      ? ["coalition,payoff", ...payoffs.map((payoff, mask) => `${quoted(who(mask).join("+"))},${payoff}`)].join("\n") + "\n"
      : JSON.stringify({ players, payoffs: payoffs.map((payoff, mask) => ({ coalition: who(mask), payoff })) });
    const link = element("a", { href: URL.createObjectURL(new Blob([content])), download: plain ? "game.csv" : "game.json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    frame.say(`Saved as ${link.download}`);
  });
  rows.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const inputs = [...rows.querySelectorAll("input")];
    inputs[inputs.indexOf(event.target) + (event.shiftKey ? -1 : 1)]?.focus();
  });
  by("game-method").addEventListener("change", () => {
    refused = "";
    offer();
    compute();
  });
  by("game-given").addEventListener("change", compute);
  // Another list of players keeps what the coalitions of the old ones earned; new players at first add nothing.
  by("game-players").addEventListener("change", (event) => {
    const names = event.target.value.split(",").map((name) => name.trim()).filter(Boolean);
    if (!names.length || names.length > MOST) return tell(`Name between 1 and ${MOST} players.`);
    if (new Set(names).size < names.length) return tell("Two players have the same name.");
    const long = names.find((name) => [...name].length > LONGEST);
    if (long) return tell(`The name “${short(long, 30)}” has ${[...long].length} characters, and a player’s name has up to ${LONGEST}.`);
    const renamed = names.length === players.length;
    const old = names.map((name, k) => (renamed ? k : players.indexOf(name)));
    const kept = Array.from({ length: 1 << names.length }, (_, mask) =>
      payoffs[old.reduce((sum, place, k) => sum | ((mask >> k) & 1 && place >= 0 ? 1 << place : 0), 0)],
    );
    refused = "";
    take({ players: names, payoffs: kept });
  });
  form.addEventListener("submit", (event) => event.preventDefault());

  const view = {
    holds: ["players", "payoffs", "method", "given"],
    page: null,
    enter(query) {
      const given = (query.get("payoffs") ?? "").split(",").map(Number);
      let names = [];
      try {
        names = JSON.parse(query.get("players") ?? "[]").map(String);
      } catch {
        names = [];
      }
      if (names.length && names.length <= MOST && given.length === 1 << names.length && given.every(Number.isFinite)) {
        const known = pick(by("game-method"), query.get("method")) || !query.get("method");
        refused = known ? "" : `This link asks for the value “${short(query.get("method"), 30)}”, which is not available here`;
        offer(query.get("given") ?? undefined);
        const same = Object.values(EXAMPLES).find((game) => JSON.stringify([game.players, game.payoffs]) === JSON.stringify([names, given]));
        take({ players: names, payoffs: given }, same?.story ?? "");
        return;
      }
      if (query.has("players") || query.has("payoffs")) refused = "The players and payoffs of this link do not fit together; this is another game";
      if (players.length) {
        frame.remember("game", settings());
        if (refused) tell(refused);
      } else take(EXAMPLES.Pricing, EXAMPLES.Pricing.story);
    },
  };
  return view;
}
