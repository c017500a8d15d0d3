// Point at a token, or walk with the arrow keys, and its numbers in every method appear beside it. All of them are copied from
// the table of the page, which stays readable without this script.
(() => {
  const root = document.querySelector("main.accredit");
  const panel = root.querySelector(".inspector");
  const name = panel.querySelector("h2");
  const list = panel.querySelector("dl");
  const table = root.querySelector(".numbers table");
  const methods = [...table.tHead.rows[0].cells].slice(1).map((cell) => cell.textContent);
  const row = (player) => document.getElementById(`p${player}`);
  let pinned = null;
  let shown = null;

  function show(player) {
    if (player === shown) return;
    for (const token of root.querySelectorAll(".t.on")) token.classList.remove("on");
    shown = player;
    panel.hidden = player === null;
    if (player === null) return;
    for (const token of root.querySelectorAll(`.t[data-p="${player}"]`)) token.classList.add("on");
    const cells = [...row(player).cells];
    name.textContent = cells[0].textContent;
    list.replaceChildren(
      ...cells.slice(1).flatMap((cell, i) => {
        const method = document.createElement("dt");
        const numbers = document.createElement("dd");
        method.textContent = methods[i];
        numbers.append(...[...cell.childNodes].map((node) => node.cloneNode(true)));
        return [method, numbers];
      }),
    );
  }

  function step(from, key) {
    const strip = from.closest(".strip");
    const tokens = [...strip.querySelectorAll(".t")];
    const at = tokens.indexOf(from);
    if (key === "ArrowRight") return tokens[at + 1];
    if (key === "ArrowLeft") return tokens[at - 1];
    if (key === "Home") return tokens[0];
    if (key === "End") return tokens.at(-1);
    const strips = [...root.querySelectorAll(".strip")];
    const other = strips[strips.indexOf(strip) + (key === "ArrowDown" ? 1 : -1)];
    return other && other.querySelector(`.t[data-p="${from.dataset.p}"]`);
  }

  root.classList.add("live");
  for (const strip of root.querySelectorAll(".strip"))
    strip.querySelectorAll(".t").forEach((token, i) => token.setAttribute("tabindex", i ? "-1" : "0"));

  root.addEventListener("pointerover", (event) => {
    const token = event.target.closest(".t");
    if (token && pinned === null && event.pointerType === "mouse") show(token.dataset.p);
  });
  root.addEventListener("focusin", (event) => {
    const token = event.target.closest(".t");
    if (token) show((pinned = token.dataset.p));
  });
  root.addEventListener("click", (event) => {
    const token = event.target.closest(".t");
    if (event.target.closest(".inspector button")) show((pinned = null));
    if (!token) return;
    event.preventDefault();
    show((pinned = token.dataset.p));
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show((pinned = null));
    const token = event.target.closest(".t");
    if (!token || !["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const next = step(token, event.key);
    if (!next) return;
    for (const other of next.closest(".strip").querySelectorAll('.t[tabindex="0"]')) other.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
})();
