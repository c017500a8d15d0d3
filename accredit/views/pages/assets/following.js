// Follow one token through a flow: what reaches it from above, and where it goes on below. Every edge passes on what arrives at
// its upper token in proportion to its own flow; no rule says which part of the flow went where.
// Here width is a share of the token's own flow.
const LEAST = 0.004;
const WIDEST = 16;

export function follow(root) {
  const known = new WeakMap(); // a drawing -> its edges by layer

  function edges(svg) {
    if (!known.has(svg))
      known.set(svg, [...svg.querySelectorAll("path[data-f]")].map((path) => {
        const { f, l, a, b } = path.dataset;
        return { path, flow: Number(f), layer: Number(l), from: Number(a), to: Number(b), width: path.getAttribute("stroke-width"), opacity: path.getAttribute("stroke-opacity") };
      }));
    return known.get(svg);
  }

  const add = (sums, key, amount) => sums.set(key, (sums.get(key) ?? 0) + amount);

  // How much of a token's flow each edge carries: layer by layer away from it, in both directions.
  function carried(all, layer, column, last) {
    const amounts = new Map();
    let here = new Map([[column, 1]]);
    const step = (row, near, far) => {
      const own = all.filter((edge) => edge.layer === row);
      const whole = new Map();
      for (const edge of own) add(whole, edge[near], edge.flow);
      const next = new Map();
      for (const edge of own) {
        const share = here.get(edge[near]);
        if (!share) continue;
        const amount = (share * edge.flow) / whole.get(edge[near]);
        amounts.set(edge, amount);
        add(next, edge[far], amount);
      }
      here = next;
    };
    for (let row = layer - 1; row >= 0; row--) step(row, "from", "to");
    here = new Map([[column, 1]]);
    for (let row = layer; row < last; row++) step(row, "to", "from");
    return amounts;
  }

  function show(svg, layer, column) {
    const all = edges(svg);
    const nodes = [...svg.querySelectorAll("circle.node")];
    const last = Math.max(...nodes.map((node) => Number(node.dataset.l)));
    const at = (l, i) => nodes.find((node) => node.dataset.l === String(l) && node.dataset.i === String(i));
    const own = at(layer, column);
    const through = all.filter((e) => (layer ? e.layer === layer - 1 && e.from === column : e.layer === 0 && e.to === column)).reduce((sum, e) => sum + e.flow, 0);
    const amounts = carried(all, layer, column, last);
    svg.classList.add("following");
    const reached = new Set([own]);
    const most = new Map(); // of each layer: what carries little beside it is pale
    for (const [edge, share] of amounts) most.set(edge.layer, Math.max(most.get(edge.layer) ?? 0, share));
    for (const edge of all) {
      const share = amounts.get(edge) ?? 0;
      const on = share >= LEAST;
      edge.path.classList.toggle("on", on);
      edge.path.setAttribute("stroke-width", on ? (0.4 + share * WIDEST).toFixed(2) : edge.width);
      edge.path.setAttribute("stroke-opacity", on ? (0.06 + (0.9 * share) / most.get(edge.layer)).toFixed(2) : edge.opacity);
      if (on) reached.add(at(edge.layer + 1, edge.from)).add(at(edge.layer, edge.to));
    }
    for (const node of nodes) node.classList.toggle("on", reached.has(node));
    for (const name of svg.querySelectorAll(".name")) {
      const mine = reached.has(at(name.dataset.l, name.dataset.i));
      name.classList.toggle("on", mine);
      if (name.hasAttribute("aria-pressed")) name.setAttribute("aria-pressed", String(Number(name.dataset.l) === layer && Number(name.dataset.i) === column));
    }
    say(svg, own, through, amounts, layer);
  }

  function say(svg, own, through, amounts, layer) {
    const told = svg.nextElementSibling;
    if (!told?.classList.contains("followed")) return;
    const number = (x) => Number((x * through).toPrecision(2)).toString();
    const strongest = (row, end) =>
      [...amounts].filter(([edge]) => edge.layer === row).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([edge, amount]) => {
        const node = svg.querySelector(`circle[data-l="${end === "from" ? row + 1 : row}"][data-i="${edge[end]}"]`);
        return `${node.dataset.name.replace(/, [^,]*$/, "")} ${number(amount)}`;
      }).join(", ");
    const from = strongest(layer, "from");
    const on = strongest(layer - 1, "to");
    told.textContent = `${own.dataset.name}: ${Number(through.toPrecision(3))} of ${svg.dataset.whole}.${from ? ` From ${from}.` : ""}${on ? ` On to ${on}.` : ""}`;
  }

  function forget(svg) {
    if (!svg?.classList.contains("following")) return;
    svg.classList.remove("following");
    for (const edge of edges(svg)) {
      edge.path.classList.remove("on");
      edge.path.setAttribute("stroke-width", edge.width);
      edge.path.setAttribute("stroke-opacity", edge.opacity);
    }
    for (const part of svg.querySelectorAll(".on")) part.classList.remove("on");
    for (const name of svg.querySelectorAll("[aria-pressed]")) name.setAttribute("aria-pressed", "false");
    if (svg.nextElementSibling?.classList.contains("followed")) svg.nextElementSibling.textContent = "";
  }

  let pinned = null; // a token that was clicked stays, until another or none is
  const token = (event) => event.target.closest?.("svg.flow [data-i]");
  const open = (part) => show(part.closest("svg.flow"), Number(part.dataset.l), Number(part.dataset.i));
  const close = (svg) => (pinned && svg?.contains(pinned) ? open(pinned) : forget(svg));
  for (const kind of ["pointerover", "focusin"]) root.addEventListener(kind, (event) => token(event) && open(token(event)));
  for (const kind of ["pointerout", "focusout"]) root.addEventListener(kind, (event) => token(event) && close(token(event).closest("svg.flow")));
  root.addEventListener("click", (event) => {
    const part = token(event);
    const svg = part?.closest("svg.flow") ?? pinned?.closest("svg.flow");
    if (!svg) return;
    pinned = part && part !== pinned ? part : null;
    if (pinned) open(pinned);
    else forget(svg);
  });
  root.addEventListener("keydown", (event) => {
    const part = token(event);
    if (!part) return;
    if (event.key === "Escape") ((pinned = null), forget(part.closest("svg.flow")));
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) part.closest("svg.flow").querySelector(`.name[tabindex][data-i="${Number(part.dataset.i) + step}"]`)?.focus();
    if (event.key === "Enter" || event.key === " ") (event.preventDefault(), part.dispatchEvent(new MouseEvent("click", { bubbles: true })));
  });
}
