// The frame: which view is open, what its address says, copying that address, saving the view as one file.
import { enter, file, get, keep, Locked, reason } from "/static/stream.js";
import { sentence, short } from "/static/page-parts.js";
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

const titled = (name) => `${name[0].toUpperCase()}${name.slice(1)}`;

// #explain?text=… : the view, and all that it needs to come back. No name at all is the first view.
function place() {
  const [, name, query] = location.hash.match(/^#?([^?]*)\??(.*)$/s);
  const known = name === "" ? "explain" : Object.hasOwn(views, name) ? name : null;
  if (!known) say(`There is no view “${short(name, 40)}”; this is ${titled(open ?? "explain")}.`);
  return [known, new URLSearchParams(query)];
}

const frame = {
  say,
  // A view passes on the settings that restore it; with `step`, Back leads to those before. `state` is for what no link can hold.
  remember(name, settings, { step = false, state = null } = {}) {
    if (open !== name) return;
    const query = new URLSearchParams(Object.entries(settings).filter(([, value]) => value !== "" && value != null));
    const address = `#${name}${query.size ? `?${query}` : ""}`;
    const same = address === location.hash && !state;
    history[step && !same ? "pushState" : "replaceState"](state, "", address);
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
  document.title = `${titled(name)} – accredit`;
  const odd = [...settings.keys()].filter((key) => !views[name].holds.includes(key));
  if (odd.length) say(`${titled(name)} has no setting ${odd.map((key) => `“${short(key, 40)}”`).join(", ")}; the rest of the link is shown.`);
  views[name].enter(settings);
  frame.savable();
}

// The redirect from the printed address brings this page's half of the key; it leaves the address at once.
const brought = new URLSearchParams(location.search).get("page");
if (brought) keep(brought);
history.replaceState(history.state, "", location.pathname + location.hash);

// Without the key, or with that of an earlier server, the page asks for it; afterwards the address restores the view.
const locked = document.getElementById("locked");
addEventListener("locked", () => {
  locked.hidden = false;
  for (const view of document.querySelectorAll(".view")) view.hidden = true;
  document.getElementById("key").focus();
});
locked.addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = locked.querySelector(".problem");
  try {
    await enter(document.getElementById("key").value);
    location.reload();
  } catch (error) {
    problem.textContent = sentence(reason(error));
    problem.hidden = false;
  }
});

const about = await get("/api/about").catch((error) => {
  if (error instanceof Locked) return new Promise(() => {}); // the page goes on after it was opened
  const broken = document.getElementById("broken");
  broken.textContent = `This page cannot start: ${reason(error)}`;
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

function move() {
  const [name, settings] = place();
  if (name) show(name, settings);
}
addEventListener("hashchange", move);
addEventListener("popstate", (event) => event.state && move()); // two pictures have the same address

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
    say("Link copied. After a restart it asks for the key, and then opens as before.");
  } catch {
    say("The address bar holds the link.");
  }
});

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  say(`Saved as ${name}`);
}

save.addEventListener("click", async () => {
  const page = await views[open].page?.();
  if (page) download(new Blob([page], { type: "text/html" }), `accredit-${open}.html`);
});

// A link to a file of the server is fetched with the key, which a plain link would not carry.
document.addEventListener("click", async (event) => {
  const wanted = event.target.closest?.("a[download][href^='/api/']");
  if (!wanted) return;
  event.preventDefault();
  try {
    download(await file(wanted.getAttribute("href")), wanted.download);
  } catch (error) {
    say(sentence(reason(error)));
  }
});

const [name, settings] = place();
show(name ?? "explain", settings);
link.disabled = false;
document.documentElement.dataset.ready = "true";
