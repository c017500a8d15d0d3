// Tables that answer questions: a click on a column's name sorts, a field above finds rows, a link to a row's steps opens them.
// Without this script everything is still there, in the order in which it was written. `memory` keeps what was chosen when
// a table is drawn again.
export function sortable(root, memory = new Map()) {
  const AT_ONCE = 40; // rows
  const number = (text) => {
    const found = text.replace(/[\u2212\u2013]/g, "-").replace(/,(?=\d{3})/g, "").match(/^[+<>≈ ]*(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)/i);
    return found ? Number(found[1]) : null;
  };
  const says = (cell) => cell?.textContent.trim() ?? "";

  function sorts(table, key) {
    const kept = memory.get(key) ?? { column: -1, down: false, query: "" };
    memory.set(key, kept);
    const body = table.tBodies[0];
    [...body.rows].forEach((row, k) => (row.dataset.k = k));
    const written = () => [...body.rows].sort((a, b) => a.dataset.k - b.dataset.k); // asked anew: a page may write other rows into these
    const heads = [...table.tHead.rows[0].cells];
    let last = null; // what was asked for last: rows in their order, and which are found

    function order() {
      const rows = written();
      if (kept.column >= 0) {
        const keys = new Map(rows.map((row) => [row, says(row.cells[kept.column])]));
        const numbers = rows.filter((row) => number(keys.get(row)) !== null).length * 2 > rows.length;
        const value = (row) => (numbers ? number(keys.get(row)) ?? -Infinity : keys.get(row));
        const compare = numbers ? (a, b) => value(a) - value(b) : (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true });
        rows.sort((a, b) => (kept.down ? -1 : 1) * compare(a, b));
      }
      const wanted = kept.query.trim().toLowerCase();
      const found = rows.filter((row) => row.textContent.toLowerCase().includes(wanted));
      arrange((last = { rows, found: new Set(found) }));
      heads.forEach((head, k) => {
        if (k === kept.column) head.setAttribute("aria-sort", kept.down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      if (count) count.textContent = wanted ? `${found.length} of ${rows.length}` : "";
    }

    // The first rows at once, more in every frame: to lay out all of a long table takes longer than one. A later order overtakes.
    function arrange(wanted, from = 0) {
      if (wanted !== last) return;
      const most = body.isConnected ? AT_ONCE : wanted.rows.length;
      let place = from ? wanted.rows[from - 1].nextElementSibling : body.firstElementChild;
      for (const row of wanted.rows.slice(from, from + most)) {
        row.hidden = !wanted.found.has(row);
        if (row === place) place = place.nextElementSibling;
        else body.insertBefore(row, place);
      }
      if (from + most < wanted.rows.length) requestAnimationFrame(() => arrange(wanted, from + most));
    }

    heads.forEach((head, k) => {
      if (!says(head)) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      button.addEventListener("click", () => {
        const again = kept.column === k;
        if (again && kept.down !== kept.first) kept.column = -1; // a third click restores what was written
        else {
          kept.down = again ? !kept.down : written().some((row) => number(says(row.cells[k])) !== null);
          if (!again) kept.first = kept.down;
          kept.column = k;
        }
        order();
      });
      head.append(button);
    });

    let count = null;
    if (table.classList.contains("searchable") && body.rows.length > 8) {
      const field = document.createElement("input");
      field.type = "search";
      field.placeholder = "Find a row";
      field.setAttribute("aria-label", "Find a row");
      field.value = kept.query;
      count = document.createElement("span");
      count.className = "small soft";
      count.setAttribute("role", "status");
      const line = document.createElement("p");
      line.className = "find";
      line.append(field, count);
      field.addEventListener("input", () => {
        kept.query = field.value;
        order();
      });
      (table.closest(".wide") ?? table).before(line);
    }
    const again = () => (kept.column >= 0 || kept.query) && order();
    root.addEventListener("renewed", again);
    again();
  }

  [...root.querySelectorAll("table.sortable")].forEach((table, k) => sorts(table, `${k} ${says(table.tHead)}`));

  // The same row in every column, while one of its points is pointed at.
  root.addEventListener("pointerover", (event) => {
    const row = event.target.dataset?.r;
    for (const point of root.querySelectorAll(".point.on")) point.classList.remove("on");
    if (row !== undefined) for (const point of root.querySelectorAll(`.point[data-r="${CSS.escape(row)}"]`)) point.classList.add("on");
  });
  root.addEventListener("click", (event) => {
    const row = event.target.dataset?.r;
    if (row !== undefined) root.querySelector(`a[href="#row-${CSS.escape(row)}"]`)?.click();
  });
}
