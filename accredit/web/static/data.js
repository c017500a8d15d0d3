// Data: the journal that the server was started with, looked at again every second while this view is open.
import { get, Problem, UNREACHABLE } from "/static/stream.js";
import { nodes, put } from "/static/page-parts.js";

const EVERY = 1000;

export function dataView(about, frame) {
  const by = (id) => document.getElementById(id);
  const result = by("data-result");
  const problem = by("data-form").querySelector(".problem");
  let following = null; // ends with the visit
  let state = "";

  async function look(signal) {
    try {
      const news = await get(`/api/data?seen=${encodeURIComponent(state)}`, signal);
      problem.hidden = true;
      if (news) {
        state = news.state;
        const opened = [...result.querySelectorAll("details")].map((d) => d.open);
        const main = put(result, ...nodes(news.html));
        main.querySelectorAll("details").forEach((d, k) => k in opened && (d.open = opened[k]));
        by("data-live").textContent = `Updated ${new Date().toLocaleTimeString()}; this view follows the journal.`;
        view.page = () => news.page;
        frame.savable();
      }
    } catch (error) {
      if (signal.aborted) return;
      problem.textContent = error instanceof Problem ? error.message : UNREACHABLE;
      problem.hidden = false;
    }
  }

  async function follow(signal) {
    await look(signal);
    if (!signal.aborted) setTimeout(() => signal.aborted || follow(signal), EVERY);
  }

  const view = {
    page: null,
    enter() {
      frame.remember("data", {});
      if (!about.store) {
        problem.textContent = "No journal is open. Name one when the server starts.";
        problem.hidden = false;
        result.querySelector(".hello").hidden = false;
        return;
      }
      by("exports").hidden = false;
      view.leave();
      following = new AbortController();
      follow(following.signal);
    },
    leave: () => following?.abort(),
  };
  return view;
}
