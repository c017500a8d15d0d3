// The frame: which view is open, what its address says, copying that address, saving the view as one file.
import { get, Problem, UNREACHABLE } from "/static/stream.js";
import { explainView } from "/static/explain.js";
import { answerView } from "/static/answer-view.js";
import { flowView } from "/static/flow.js";
import { follow } from "/static/following.js";
import { tableView } from "/static/table.js";
import { dataView } from "/static/data.js";
import { gameView } from "/static/game.js";

const told = document.getElementById("told");
const save = document.getElementById("save");
let open = null;

function say(message) {
  told.textContent = message;
  setTimeout(() => told.textContent === message && (told.textContent = ""), 4000);
}

// #explain?text=… : the view, and all that it needs to come back. No name at all is the first view.
function place() {
  const [, name, query] = location.hash.match(/^#?([^?]*)\??(.*)$/s);
  return [name === "" ? "explain" : Object.hasOwn(views, name) ? name : null, new URLSearchParams(query)];
}

const frame = {
  say,
  // A view passes on the settings that restore it.
  remember(name, settings) {
    if (open !== name) return;
    const query = new URLSearchParams(Object.entries(settings).filter(([, value]) => value !== "" && value != null));
    history.replaceState(null, "", `#${name}${query.size ? `?${query}` : ""}`);
  },
  // A view has something to save, or no longer has.
  savable() {
    save.disabled = !views[open]?.page;
  },
};

function show(name, settings) {
  open = name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const [other, view] of Object.entries(views)) {
    document.getElementById(`view-${other}`).hidden = other !== name;
    if (other !== name) view.leave?.();
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} – accredit`;
  views[name].enter(settings);
  frame.savable();
}

history.replaceState(null, "", location.pathname + location.hash); // the key stays out of sight and out of history
const about = await get("/api/about").catch((error) => {
  const broken = document.getElementById("broken");
  broken.textContent = `This page cannot start: ${error instanceof Problem ? error.message : UNREACHABLE}`;
  broken.hidden = false;
  throw error;
});
const views = {
  explain: explainView(about, frame),
  answers: answerView(about, frame),
  tables: tableView(about, frame),
  flow: flowView(about, frame),
  data: dataView(about, frame),
  game: gameView(about, frame),
};

follow(document); // in whatever view a flow is drawn

addEventListener("hashchange", () => {
  const [name, settings] = place();
  if (name) show(name, settings);
});

// The skip link moves the focus and leaves the address, which restores the view, as it is.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("view").focus();
});

const link = document.getElementById("link");
link.addEventListener("click", async () => {
  const why = views[open].unlinkable?.();
  if (why) return say(why);
  try {
    await navigator.clipboard.writeText(location.href);
    say("Link copied; it works while this server runs.");
  } catch {
    say("The address bar holds the link.");
  }
});

save.addEventListener("click", async () => {
  const page = await views[open].page?.();
  if (!page) return;
  const address = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `accredit-${open}.html`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  say(`Saved as ${link.download}`);
});

const [name, settings] = place();
show(name ?? "explain", settings);
link.disabled = false;
document.documentElement.dataset.ready = "true";
