// A graph of edges, typed or dropped: the flow through it, what proves it, and whether it is the only one.
import { Problem } from "/static/stream.js";
import { Asking, put, short, tooLong } from "/static/page-parts.js";
import { sortable } from "/static/sorting.js";
import { reveal, tableFile, takesFiles } from "/static/table.js";

const EXAMPLE = "from,to,capacity\ns,a,2\ns,b,2\na,t,2\nb,t,2\nt,u,3\n";
const LINKED = 4000; // characters of edges that a link holds
const MOST = 1e6; // and that the server reads

export function graphPart(frame, view) {
  const by = (id) => document.getElementById(id);
  const form = by("graph-form");
  const edges = by("edges");
  const result = by("graph-result");
  const asking = new Asking(form, result);
  const memory = new Map(); // how the edges are sorted
  let name = "edges.csv"; // the file that the edges came from
  edges.value = EXAMPLE;
  by("edges-from").value = "s";
  by("edges-to").value = "u";

  const listed = (id) => by(id).value.split(",").map((word) => word.trim()).filter(Boolean);
  const rules = [...form.querySelectorAll("input[name=graph-rule]")];
  const rule = () => rules.find((radio) => radio.checked).value;
  const settings = () => ({ of: "edges", edges: edges.value.length > LINKED ? "" : edges.value, begin: by("edges-from").value, end: by("edges-to").value, rule: rule(), cheapest: by("cheapest").checked ? "yes" : "" });

  async function solve() {
    if (!edges.value.trim()) return asking.tell("Write the edges first: from, to and capacity, one edge per line.");
    frame.remember("flow", settings());
    view.page = null;
    frame.savable();
    const asked = { edges: edges.value, name, source: listed("edges-from"), sink: listed("edges-to"), rule: rule(), cheapest: by("cheapest").checked };
    await asking.run("/api/graph", asked, (event) => {
      if (event.event === "result") {
        sortable(put(result, ...event.made), memory);
        reveal(result);
      }
      if (event.event === "done") {
        view.page = () => event.page;
        frame.savable();
      }
    });
  }

  async function take(file) {
    try {
      edges.value = await tableFile(file, MOST);
      name = file.name;
      asking.tell("");
      asking.age();
      return true;
    } catch (error) {
      asking.tell(error instanceof Problem ? error.message : `${file.name} cannot be read. Choose it again.`);
      return false;
    }
  }

  const files = takesFiles(form, by("edges-file"), take);
  edges.addEventListener("input", () => ((name = "edges.csv"), asking.age()));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await files.settled()) solve();
  });

  return {
    enter(query) {
      if (!query.has("edges")) return view.page ?? frame.savable();
      const long = tooLong(edges, query.get("edges"));
      if (long) return asking.tell(long);
      edges.value = query.get("edges");
      by("edges-from").value = query.get("begin") ?? "";
      by("edges-to").value = query.get("end") ?? "";
      by("cheapest").checked = query.get("cheapest") === "yes";
      const named = query.get("rule") ?? "barrier";
      const known = rules.find((radio) => radio.value === named);
      if (!known) return asking.tell(`The link asks for the rule ${short(named, 30)}; there are ${rules.map((radio) => radio.value).join(", ")}.`);
      known.checked = true;
      solve();
    },
    unlinkable: () => (edges.value.length > LINKED ? "A link cannot hold so many edges: save the page instead." : ""),
    leave: () => asking.stop(),
  };
}
