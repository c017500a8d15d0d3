// What the views share: safe insertion of what the server rendered, and one running request at a time with its progress.
import { events, Problem } from "/static/stream.js";

// The server escaped every name. A parsed document runs no script, and the policy of the page forbids handlers besides.
export function nodes(html) {
  return [...new DOMParser().parseFromString(html, "text/html").body.childNodes];
}

// What scrolls sideways can be reached, and then scrolled, by keys.
function reach(root) {
  for (const wide of root.querySelectorAll(".wide:not([role]), .wide[data-scrolls]")) {
    const scrolls = wide.scrollWidth > wide.clientWidth;
    wide.toggleAttribute("data-scrolls", true);
    for (const [name, value] of Object.entries({ tabindex: "0", role: "region", "aria-label": "Table; it scrolls sideways" }))
      if (scrolls) wide.setAttribute(name, value);
      else wide.removeAttribute(name);
  }
}
addEventListener("resize", () => reach(document));

// A fresh <main> takes the place of the result before.
export function put(container, ...children) {
  const main = element("main", { className: "accredit" }, ...children);
  container.replaceChildren(main);
  container.classList.remove("stale");
  reach(main);
  return main;
}

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export function later(wait, action) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, wait);
  };
}

// A form that asks for work: it shows progress, offers to cancel, and tells what went wrong.
export class Asking {
  constructor(form) {
    this.form = form;
    this.cancel = form.querySelector(".cancel");
    this.problem = form.querySelector(".problem");
    this.going = form.querySelector(".going");
    this.controller = null;
    this.cancel?.addEventListener("click", () => this.stop("Cancelled."));
  }

  stop(told = "") {
    this.controller?.abort();
    this.controller = null;
    this.quiet();
    if (told) this.tell(told);
  }

  quiet() {
    if (this.cancel) this.cancel.hidden = true;
    if (this.going) this.going.hidden = true;
    this.form.removeAttribute("aria-busy");
  }

  tell(message) {
    this.problem.textContent = message;
    this.problem.hidden = !message;
  }

  // Calls `seen` with every event; returns whether the work came to its end.
  async run(path, asked, seen) {
    this.stop();
    this.tell("");
    const controller = (this.controller = new AbortController());
    this.cancel.hidden = this.going.hidden = false;
    this.form.setAttribute("aria-busy", "true");
    const status = this.going.querySelector("span");
    const bar = this.going.querySelector("progress");
    bar.value = 0;
    status.textContent = "";
    try {
      for await (const event of events(path, asked, controller.signal)) {
        if (this.controller !== controller) return false;
        if (event.event === "queued") status.textContent = event.ahead ? `${event.ahead} before this` : "starting";
        if (event.event === "progress") status.textContent = `${event.method} …`;
        if (event.of) bar.value = event.done / event.of;
        if (event.event === "failed") throw new Problem(event.problem);
        seen(event);
        if (event.event === "done") return true;
      }
      throw new Problem("the server ended the answer early; try again");
    } catch (error) {
      if (error.name === "AbortError" || this.controller !== controller) return false;
      this.tell(error instanceof Problem ? error.message : "the server cannot be reached; is accredit serve still running?");
      return false;
    } finally {
      if (this.controller === controller) {
        this.controller = null;
        this.quiet();
      }
    }
  }
}
