// What the views share: safe insertion of what the server rendered, and one running request at a time with its progress.
import { inspect } from "/static/inspector.js";
import { events, Problem, reason } from "/static/stream.js";

// The server escaped every name. A document that is not shown runs no script, and the policy of the page forbids handlers too.
// Much of it is parsed in slices, with a frame between them: work that only yields is taken up again before anything is drawn. How
// many slices go into a frame is decided by the clock: where the model computes on the same processor, a slice takes three times as long.
const SLICE = 20_000; // characters, some 4 milliseconds of a processor
const PARSING = 8; // milliseconds between two frames
const WAIT = 100; // milliseconds after which a page that draws no frames goes on
export const breath = () =>
  new Promise((go) => {
    const late = setTimeout(go, WAIT);
    requestAnimationFrame(() => (clearTimeout(late), setTimeout(go)));
  });
let since = null; // when parsing began in this frame
function begin() {
  since = performance.now();
  requestAnimationFrame(() => (since = null));
}
export async function nodes(html) {
  const apart = document.implementation.createHTMLDocument("");
  for (let at = 0; at < html.length; at += SLICE) {
    const slice = html.slice(at, at + SLICE);
    if (since !== null && !document.hidden && performance.now() - since > PARSING) await breath();
    if (since === null) begin();
    apart.write(slice);
  }
  apart.close();
  return [...apart.body.childNodes];
}

// What an event brings to be drawn, parsed: `html` becomes `made`, and each of `blocks` its nodes.
export async function parsed(event) {
  if (event.html) event.made = await nodes(event.html);
  for (const name of Object.keys(event.blocks ?? {})) event.blocks[name] = await nodes(event.blocks[name]);
  return event;
}

// Where a page changes under a pointer that rests, nothing is pointed at.
let rests = "";
const where = (event) => `${event.clientX} ${event.clientY}`;
addEventListener("pointerup", (event) => (rests = where(event)), true);
addEventListener("pointerover", (event) => where(event) === rests && event.stopImmediatePropagation(), true);
addEventListener("pointermove", (event) => where(event) !== rests && (rests = ""), true);

// What scrolls can be reached, and then scrolled, by keys. Sizes are read when a layout has ended; nothing forces one.
const sized = new ResizeObserver((seen) => {
  const found = seen.map(({ target }) => [target, target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight]);
  for (const [wide, scrolls] of found)
    for (const [name, value] of Object.entries({ tabindex: "0", role: "region", "aria-label": `Table ${wide.dataset.table}; it scrolls` }))
      if (scrolls) wide.setAttribute(name, value);
      else wide.removeAttribute(name);
});
function reach(root) {
  for (const [k, wide] of root.querySelectorAll(".wide:not([role]), .wide[data-table]").entries()) {
    wide.dataset.table = k + 1;
    sized.observe(wide);
  }
}

// A result is laid out from its top, so many elements in every frame; the first of them are there at once. Long texts are cut
// between paragraphs, long tables between rows. What is far down lays itself out when it comes into sight, if it can.
const AT_ONCE = 250; // elements
const FAR = 8; // groups
const WHOLE = ".piece, .strip:not(:has(.piece)), tr, svg, details:not([open])";
const SELF = ".piece, .aside";
function grouped(made) {
  const groups = [[]];
  let size = 0;
  function take(node) {
    const own = groups.length > FAR && node.matches(SELF) ? 1 : node.querySelectorAll("*").length + 1;
    if (own > AT_ONCE && !node.matches(WHOLE)) return [...node.children].forEach(take);
    if (size + own > AT_ONCE) {
      groups.push([]);
      size = 0;
    }
    groups.at(-1).push(node);
    size += own;
  }
  made.filter((node) => node.nodeType === Node.ELEMENT_NODE).forEach(take);
  return groups;
}
// Hides all groups but the first; `unfold` shows one more in every frame.
function folded(made, foldable = "*") {
  const groups = grouped(made).slice(1).map((group) => group.filter((node) => node.matches(foldable)));
  for (const node of groups.flat()) node.classList.add("later");
  return groups.filter((group) => group.length);
}
function unfold(main, [group, ...rest]) {
  main.classList.toggle("unfolding", Boolean(group));
  if (!group) return;
  requestAnimationFrame(() => {
    for (const node of group) node.classList.remove("later");
    unfold(main, rest);
  });
}

// A result that differs from the one before only in its words and numbers is written into it: what is looked at, scrolled, opened or
// typed stays, and little is laid out again. Returns whether it could be.
export function rewritten(container, made) {
  const old = container.querySelector(":scope > .accredit");
  const parts = (main) => [...main.querySelectorAll("*")];
  const kinds = (part) => [part, ...part.childNodes].map((node) => node.nodeName).join();
  const [before, after] = [old ? parts(old) : [], parts(made)];
  if (!before.length || before.length !== after.length || !after.every((part, k) => kinds(before[k]) === kinds(part))) return false;
  after.forEach((part, k) => rewrite(before[k], part));
  old.dispatchEvent(new Event("renewed"));
  container.classList.remove("stale");
  return true;
}
function rewrite(old, part) {
  for (const { name, value } of part.attributes) if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of ["hidden", "aria-sort", "title"]) if (!part.hasAttribute(name)) old.removeAttribute(name);
  part.childNodes.forEach((node, k) => {
    if (node.nodeType === Node.TEXT_NODE && old.childNodes[k].data !== node.data) old.childNodes[k].data = node.data;
  });
}

// A fresh element replaces the previous result; at once, if there was one, so that what is looked at does not flicker.
export const put = (container, ...children) => place(container, element("div", { className: "accredit" }, ...children));
export function place(container, main) {
  if (!container.querySelector(":scope > .accredit")) unfold(main, folded([...main.children]));
  container.replaceChildren(main);
  container.classList.remove("stale");
  reach(main);
  return main;
}

// A result that comes in blocks by name. Only those that changed are sent and replaced, so that what is being read stays in its place.
// The inspector of the saved page works on it too: both show tokens the same way.
export class Blocks {
  constructor(container) {
    this.container = container;
  }

  // `own` are nodes of the page itself that stand among the blocks: [name, node, the block after which it comes, or none].
  take(event, first, own = []) {
    if (first) this.begin();
    const back = this.focused();
    const order = [...event.order];
    this.pages = new Set(own.map(([name]) => name));
    for (const [name, node, after] of own) {
      order.splice(order.indexOf(after) + 1, 0, name);
      this.own.set(name, [node]);
    }
    this.title.textContent = event.title;
    for (const [name, old] of this.own) if (name in event.blocks || !order.includes(name)) for (const node of old) node.remove();
    for (const name of order) if (name in event.blocks) this.own.set(name, this.renewed(this.own.get(name) ?? [], event.blocks[name]));
    unfold(this.main, folded(Object.values(event.blocks).flat(), first ? "*" : ".piece")); // what is being read stays in its place
    this.arrange((this.order = order));
    reach(this.main);
    if (this.inspected) this.main.dispatchEvent(new Event("renewed"));
    else if ((this.inspected = event.order.includes("inspector"))) inspect(this.main);
    const token = back && this.main.querySelectorAll(".strip")[back[0]]?.querySelector(`.t[data-p="${back[1]}"]`);
    token?.closest(".later")?.classList.remove("later"); // what is hidden cannot have the focus
    token?.focus({ preventScroll: true });
  }

  begin() {
    this.title = element("h1", { tabIndex: -1 });
    this.main = element("div", { className: "accredit" }, this.title);
    this.own = new Map(); // name -> nodes
    this.order = [];
    this.inspected = false;
    this.show();
  }

  arrange(order) {
    let place = this.title.nextSibling;
    for (const name of order)
      for (const node of this.own.get(name)) {
        if (node === place) place = place.nextSibling;
        else this.main.insertBefore(node, place);
      }
  }

  // Takes what stands below the first strip off the page, as a next result is about to come; `arrange` brings it back.
  thin() {
    const below = this.order.slice(this.order.indexOf("legend") + 1);
    for (const name of below) if (!this.pages.has(name)) for (const node of this.own.get(name)) node.remove();
  }

  // Shown, perhaps once more: nodes of the page itself come back from wherever they are now.
  show() {
    this.arrange(this.order);
    this.container.replaceChildren(this.main);
    this.container.classList.remove("stale");
  }

  // What was opened stays open.
  renewed(old, made) {
    const details = (from) => from.flatMap((node) => [...(node.querySelectorAll?.("details") ?? [])]);
    const before = details(old);
    if (before.length) details(made).forEach((d, k) => (d.open = before[k]?.open ?? d.open));
    return made;
  }

  focused() {
    const token = document.activeElement?.closest?.(".t");
    if (!token || !this.main.contains(token)) return null;
    return [[...this.main.querySelectorAll(".strip")].indexOf(token.closest(".strip")), token.dataset.p];
  }
}

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export const LONGEST = 80; // characters of a name, as the server allows

// The beginning of a text; by characters, as half of an emoji is none.
export const short = (text, most = 60) => ([...text].length > most ? `${[...text].slice(0, most).join("").trim()}…` : text);

// Chooses a value of a list, or its first one; returns whether the value was there.
export function pick(select, value) {
  const found = [...select.options].some((option) => option.value === value);
  select.value = found ? value : select.options[0].value;
  return found;
}

// What is wrong with a text that a link holds: a script may put more into a field than a person could.
export function tooLong(field, value) {
  if (!(field.maxLength >= 0 && value.length > field.maxLength)) return ""; // a list has no such length
  const [has, takes] = [value.length, field.maxLength].map((count) => count.toLocaleString("en"));
  return `This link holds a text of ${has} characters, and this page takes up to ${takes}`;
}

export function later(wait, action) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, wait);
  };
}

// A message as a sentence: what the library says begins with the name of an argument, and ends without a full stop.
export function sentence(message) {
  const text = message.trim().replace(/^[a-z]+(?=[ ,;:’'])/, (word) => word[0].toUpperCase() + word.slice(1)); // not a file's name
  return text && text + (/[.!?…:]$/.test(text) ? "" : ".");
}

// A form that shrinks to one line above its result, and opens again at a click. What has the class "keep" stays.
export function shrinking(form, summary) {
  const asked = element("span", { className: "asked-line", dir: "auto" });
  const line = element("button", { type: "button", className: "brief-line", hidden: true }, asked, element("span", { className: "change" }, "Change"));
  form.prepend(line);
  function set(brief) {
    form.classList.toggle("brief", brief);
    line.hidden = !brief;
    if (brief) asked.textContent = summary();
  }
  line.addEventListener("click", async () => {
    set(false);
    await breath(); // the focus asks for a layout
    if (line.hidden) form.querySelector("textarea:not(:is([hidden], .with-picture) *)")?.focus();
  });
  return { shrink: () => set(true), open: () => set(false) };
}

// The answer is what one sees and hears first: its heading is at the top of the window, below the one line of the form. The focus
// asks for a layout, so it waits for the frame that makes one anyway.
export async function arrive(form, heading) {
  await breath();
  const free = document.activeElement === document.body || form.contains(document.activeElement);
  if (!free || !heading.isConnected) return; // whoever went on to something else is left there
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
  scrollTo({ top: 0 });
}

// What a wait is called before any method reports.
const STATES = {
  queued: ({ ahead }) => (ahead ? `${ahead} before this` : "Starting"),
  loading: () => "The model is being loaded",
  begun: () => "Starting",
};

// What is being done and how long it still takes; where nobody can say, how long it has taken. It goes on between two reports.
const NOTICED = 2; // seconds of waiting that are named
class Clock {
  constructor(status) {
    this.status = status;
    this.say("Starting");
    this.timer = setInterval(() => this.tick(), 1000);
  }

  say(what, left = null) {
    const step = what.replace(/, \d+ pass(es)?$/, "");
    if (step !== this.step) [this.step, this.since] = [step, performance.now()];
    this.what = what;
    this.end = left === null ? null : performance.now() + 1000 * left;
    this.tick();
  }

  tick() {
    const now = performance.now();
    const left = this.end === null ? 0 : Math.round((this.end - now) / 1000);
    const taken = Math.round((now - this.since) / 1000);
    this.status.textContent = `${this.what} …${left >= 1 ? ` ${left} s left` : taken >= NOTICED ? ` ${taken} s so far` : ""}`;
  }

  stop() {
    clearInterval(this.timer);
  }
}

// A form that asks for work: it shows progress, offers to cancel, and says what went wrong. A result that is not that of what was
// asked last is pale and says so.
export class Asking {
  constructor(form, result) {
    this.form = form;
    this.result = result;
    this.cancel = form.querySelector(".cancel");
    this.problem = form.querySelector(".problem");
    this.going = form.querySelector(".going");
    this.earlier = element("p", { className: "earlier small", hidden: true });
    result.before(this.earlier);
    this.controller = null;
    this.leave = () => () => {}; // takes part of an old result away before the next one comes; returns what brings it back
    this.named = () => "This is the earlier result:"; // what an old result is called
    this.cancel.addEventListener("click", () => this.stop(this.came ? "Cancelled. What had come by then stands below." : "Cancelled."));
  }

  get running() {
    return this.controller !== null;
  }

  stop(message = "") {
    this.controller?.abort();
    this.controller = null;
    this.quiet();
    if (message) this.tell(message);
  }

  quiet() {
    this.clock?.stop();
    this.cancel.hidden = this.going.hidden = true;
    this.form.removeAttribute("aria-busy");
  }

  // Whether what is shown is not, or no longer, what the form says.
  age(old = true) {
    const pale = old && Boolean(this.result.querySelector(":scope > .accredit"));
    this.result.classList.toggle("stale", pale);
    this.earlier.hidden = !pale;
    this.earlier.textContent = pale ? this.named() : "";
  }

  // Something of what was asked is shown.
  arrived() {
    this.age(false);
    this.came = true;
  }

  tell(message, ...actions) {
    this.problem.replaceChildren(sentence(message), ...(actions.length ? [element("span", { className: "choices" }, ...actions)] : []));
    this.problem.hidden = !message;
    if (message) this.problem.scrollIntoView({ block: "nearest" });
  }

  // Calls `seen` with every event; returns whether the work came to its end.
  async run(path, asked, seen) {
    this.stop();
    this.tell("");
    const controller = (this.controller = new AbortController());
    this.cancel.hidden = this.going.hidden = false;
    this.age();
    this.came = false; // something of what was asked
    this.form.setAttribute("aria-busy", "true");
    const bar = this.going.querySelector("progress");
    bar.value = 0;
    this.clock = new Clock(this.going.querySelector("span"));
    try {
      for await (const event of events(path, asked, controller.signal)) {
        if (event.event in STATES) this.clock.say(STATES[event.event](event), event.seconds);
        if (event.event === "progress") this.clock.say(event.method, event.seconds_left);
        if (event.of) bar.value = (event.done + (event.share ?? 0)) / event.of;
        if (event.event === "failed") throw Object.assign(new Problem(event.problem), { long: event.long });
        await parsed(event);
        if (this.controller !== controller) return false; // overtaken while it was parsed
        if (event.event === "result" && !this.came) {
          const back = this.leave();
          await breath();
          if (this.controller !== controller) return back(), false;
        }
        seen(event);
        if (event.event === "result") {
          this.arrived();
          await breath();
        }
        if (event.event === "done") return true;
      }
      throw new Problem("the server ended the answer early; try again");
    } catch (error) {
      if (error.name === "AbortError" || this.controller !== controller) return false;
      this.failed(error);
      return false;
    } finally {
      if (this.controller === controller) {
        this.controller = null;
        this.quiet();
      }
    }
  }

  failed(error) {
    this.tell(reason(error));
  }
}
