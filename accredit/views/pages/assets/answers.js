// Point at a token or a sentence of the answer, or walk with the arrow keys, and the prompt is coloured for it. A click keeps it,
// Escape goes back to the whole answer. Every colour and number is in the page already; this only chooses among them.
export function answers(root) {
  const every = [...root.querySelectorAll(".credit i")];
  const credits = new Map(every.map((each) => [`${each.dataset.m} ${each.dataset.k}`, each.dataset]));
  const spoken = [...root.querySelectorAll(".spoken i")].map((each) => each.dataset);
  const name = root.querySelector(".asked .now");
  const likely = root.querySelector(".likely");
  const readout = root.querySelector(".readout");
  const hint = readout.firstElementChild;
  const parts = [...root.querySelectorAll(".prompt .t")];
  const words = [...root.querySelectorAll(".s")];
  const levels = "abcdefghijklmnopqrstuvwxy";
  let method = "0";
  let kept = "0";
  let shown = "0";
  let part = null;

  function colour(letter) {
    const at = levels.indexOf(letter);
    if (at < 0) return `n${letter.charCodeAt(0) - 64}`;
    return at === 12 ? "z" : at > 12 ? `u${at - 12}` : `d${12 - at}`;
  }

  // The target that is drawn: what was picked, or the whole answer where the method has no credit for less.
  function drawn() {
    return credits.has(`${method} ${shown}`) ? shown : "0";
  }

  function found() {
    return credits.get(`${method} ${drawn()}`);
  }

  function paint() {
    const credit = found();
    if (!credit) return;
    for (const each of parts) {
      const now = `t ${colour(credit.levels[each.dataset.p])}`;
      if (each.className !== now) each.className = now; // most stay as they are, and cost nothing then
    }
    name.textContent = spoken[drawn()].name;
    likely.textContent = drawn() === shown ? spoken[shown].words : "This method answers for the whole answer only.";
    for (const each of root.querySelectorAll(".s,.pick[data-k]")) {
      each.classList.toggle("on", each.dataset.k === shown);
      each.setAttribute("aria-pressed", String(each.dataset.k === shown));
    }
    tell(part);
  }

  function pick(target) {
    if (target === shown) return;
    shown = target;
    paint();
  }

  function tell(player) {
    part = player;
    for (const each of root.querySelectorAll(".prompt .t.on")) each.classList.remove("on");
    const credit = found();
    if (player === null || !credit) {
      readout.replaceChildren(hint);
      return;
    }
    const mine = parts.filter((each) => each.dataset.p === player);
    for (const each of mine) each.classList.add("on");
    const text = mine.map((each) => each.textContent.trim()).join(" ");
    const range = credit.intervals ? ` (${credit.intervals.split("|")[player]})` : "";
    const short = text.length > 90 ? `${text.slice(0, 89)}…` : text;
    readout.textContent = `“${short}”: ${credit.numbers.split(" ")[player]}${range} for ${spoken[drawn()].name}`;
  }

  function along(list, from, key) {
    const at = list.indexOf(from);
    if (key === "ArrowRight" || key === "ArrowDown") return list[at + 1];
    if (key === "ArrowLeft" || key === "ArrowUp") return list[at - 1];
    return key === "Home" ? list[0] : key === "End" ? list.at(-1) : null;
  }

  root.classList.add("answers");
  for (const list of [words, parts]) list.forEach((each, i) => each.setAttribute("tabindex", i ? "-1" : "0"));
  root.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const word = event.target.closest(".s,.pick[data-k]");
    const player = event.target.closest(".prompt .t");
    if (word) pick(word.dataset.k);
    else if (event.target.closest(".words")) pick(kept);
    if (player) tell(player.dataset.p);
  });
  root.addEventListener("pointerout", (event) => {
    if (event.target.closest(".s,.pick[data-k]") && !event.relatedTarget?.closest?.(".said")) pick(kept);
  });
  root.addEventListener("focusin", (event) => {
    const word = event.target.closest(".s");
    const player = event.target.closest(".prompt .t");
    if (word) pick((kept = word.dataset.k));
    if (player) tell(player.dataset.p);
  });
  root.addEventListener("click", (event) => {
    const word = event.target.closest(".s,.pick[data-k]");
    const chosen = event.target.closest(".pick.by");
    const player = event.target.closest(".prompt .t");
    if (word) pick((kept = word.dataset.k));
    if (player) {
      event.preventDefault();
      tell(player.dataset.p);
    }
    if (!chosen) return;
    method = chosen.dataset.m;
    for (const each of root.querySelectorAll(".pick.by")) {
      each.classList.toggle("on", each === chosen);
      each.setAttribute("aria-pressed", String(each === chosen));
    }
    paint();
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      pick((kept = "0"));
      tell(null);
    }
    const word = event.target.closest(".s");
    const player = event.target.closest(".prompt .t");
    if (!word && !player) return;
    if (word && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      pick((kept = word.dataset.k));
    }
    const next = along(word ? words : parts, word ?? player, event.key);
    if (!next) return;
    event.preventDefault();
    (word ?? player).setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}
