// Point at a token, or walk with the arrow keys, and its numbers in every method appear beside it. All of them are copied from
// the table of the page, which stays readable without this script. Listeners sit on the page, not on its tokens, so that a part
// of it may be replaced; the event "renewed" says so.
export function inspect(root) {
  const AT_ONCE = 500; // tokens
  const panel = root.querySelector(".inspector");
  const name = panel.querySelector("h2");
  const list = panel.querySelector("dl");
  const row = (player) => document.getElementById(`p${player}`);
  let pinned = null;
  let shown = null;
  let marked = [];

  function numbers(cell) {
    const copied = document.createElement("dd");
    const copies = [...cell.childNodes].map((node) => node.cloneNode(true));
    if (cell.className) {
      const coloured = document.createElement("span");
      coloured.className = cell.className;
      coloured.append(...copies);
      copied.append(coloured);
    } else copied.append(...copies);
    if (cell.title) copied.title = cell.title;
    return copied;
  }

  function show(player, again = false) {
    if (player === shown && !again) return;
    for (const token of marked) token.classList.remove("on");
    marked = [];
    const found = player === null ? null : row(player);
    shown = found ? player : null;
    panel.hidden = !found;
    if (!found) return;
    marked = [...root.querySelectorAll(`.t[data-p="${player}"]`)];
    for (const token of marked) token.classList.add("on");
    const [own, ...cells] = found.cells;
    const methods = found.closest("table").tHead.rows[0].cells;
    name.textContent = own.textContent;
    list.replaceChildren(
      ...cells.flatMap((cell, i) => {
        const method = document.createElement("dt");
        method.textContent = methods[i + 1].textContent;
        return [method, numbers(cell)];
      }),
    );
  }

  // A panel that lies on the page must not lie on the token whose numbers it shows.
  function uncover(token) {
    requestAnimationFrame(() => {
      const [lies, own] = [panel, token].map((part) => part.getBoundingClientRect());
      if (own.bottom > lies.top && own.top < lies.bottom && own.right > lies.left && own.left < lies.right)
        scrollBy({ top: own.bottom - lies.top + 12 });
    });
  }

  function step(from, key) {
    const strip = from.closest(".strip");
    if (!strip) return null;
    const tokens = [...strip.querySelectorAll(".t")];
    const at = tokens.indexOf(from);
    const forward = getComputedStyle(strip).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    if (key === forward) return tokens[at + 1];
    if (key === "ArrowLeft" || key === "ArrowRight") return tokens[at - 1];
    if (key === "Home") return tokens[0];
    if (key === "End") return tokens.at(-1);
    const strips = [...root.querySelectorAll(".strip")];
    const other = strips[strips.indexOf(strip) + (key === "ArrowDown" ? 1 : -1)];
    return other && other.querySelector(`.t[data-p="${from.dataset.p}"]`);
  }

  // One stop of the Tab key per strip. Thousands of tokens are passed over some at a time, a frame between.
  function stops() {
    const strips = [...root.querySelectorAll(".strip")].filter((strip) => !strip.querySelector('.t[tabindex="0"]'));
    for (const strip of strips) strip.querySelector(".t")?.setAttribute("tabindex", "0");
    passOver(strips.flatMap((strip) => [...strip.querySelectorAll(".t:not([tabindex])")]));
  }

  function passOver(tokens) {
    for (const token of tokens.slice(0, AT_ONCE)) if (!token.hasAttribute("tabindex")) token.setAttribute("tabindex", "-1");
    if (tokens.length > AT_ONCE) requestAnimationFrame(() => passOver(tokens.slice(AT_ONCE)));
  }

  root.classList.add("live");
  stops();
  root.addEventListener("renewed", () => {
    stops();
    if (shown !== null) show(shown, true);
  });
  root.addEventListener("pointerover", (event) => {
    const token = event.target.closest(".t");
    if (token && pinned === null && event.pointerType === "mouse") show(token.dataset.p);
  });
  root.addEventListener("focusin", (event) => {
    const token = event.target.closest(".t");
    if (!token) return;
    show((pinned = token.dataset.p));
    uncover(token);
  });
  root.addEventListener("click", (event) => {
    const token = event.target.closest("a")?.querySelector(".patch") ?? event.target.closest(".t");
    if (event.target.closest(".inspector > button")) show((pinned = null));
    if (!token) return;
    event.preventDefault();
    show((pinned = token.dataset.p));
    uncover(token);
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show((pinned = null));
    const token = event.target.closest(".t");
    if (!token || !["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const next = step(token, event.key);
    if (!next) return;
    next.closest(".strip").querySelector('.t[tabindex="0"]').setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}
