// Answers: passages and a question, or one prompt, and an answer; the prompt is coloured for the word of the answer that one points at.
import { answers } from "/static/answers.js";
import { arrive, Asking, element, pick, put, shrinking, tooLong } from "/static/page-parts.js";

const EXAMPLE = {
  context: "Anna has the job of Boris .\nClara owns a dog .\nBoris works as a baker .\nDavid lives in Oslo .",
  query: "What does Anna do ?",
};
const NONE = "The served model does not write. Start with accredit serve --model FOLDER and a language model, or without --model for the built-in one.";
const KEPT = 8;

export function answerView(about, frame) {
  const by = (id) => document.getElementById(id);
  const form = by("answers-form");
  const result = by("answers-result");
  const asking = new Asking(form, result);
  const fields = { context: by("passages"), query: by("query"), prompt: by("prompt"), answer: by("answer"), rather: by("rather"), players: by("answer-players"), removal: by("answer-removal") };
  const modes = [...form.querySelectorAll("input[name=given]")];
  const past = new Map(); // settings -> { main, page }
  let asked = false;
  let interrupted = false; // left while it was computed

  if (about.builtin) {
    for (const [name, value] of Object.entries(EXAMPLE)) fields[name].value = value;
    fields.prompt.value = `${EXAMPLE.context}\n${EXAMPLE.query}`;
  }
  by("answers-card").textContent = !about.answers
    ? NONE
    : about.builtin
      ? "Model: built-in answering model. It knows a few words and answers questions about facts that the passages state; its weights were set by hand, so the right credit is known."
      : `Model: ${about.text.name}. It writes; what it says is scored word by word.`;
  const one = () => modes[1].checked;
  const lines = () => fields.context.value.split("\n").filter((line) => line.trim());
  const brief = shrinking(form, () => (one() ? fields.prompt.value : `${lines().length} passages · ${fields.query.value}`));

  function shape() {
    form.querySelector(".with-passages").hidden = one();
    form.querySelector(".with-prompt").hidden = !one();
  }

  function settings() {
    const { context, query, prompt, ...others } = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value]));
    return one() ? { prompt, ...others } : { context, query, ...others };
  }

  function refused(message) {
    asking.stop();
    asking.age();
    brief.open();
    asking.tell(message);
  }

  async function ask(step = true) {
    const given = settings();
    if (one() && !given.prompt.trim()) return refused("Write a prompt first.");
    if (!one() && !lines().length) return refused("Write at least one passage, one per line.");
    if (!one() && !given.query.trim()) return refused("Write the question that the passages are to answer.");
    frame.remember("answers", given, { step: step && asked });
    asked = true;
    interrupted = false;
    view.page = null;
    frame.savable();
    const { answer, rather, players, removal } = given;
    const from = one() ? { prompt: given.prompt } : { context: lines(), query: given.query };
    brief.shrink();
    let main = null;
    let words = null; // of the answer, as the model says them
    let landed = false; // has a heading of this answer had the focus?
    const land = async (title) => {
      if (landed) return;
      await arrive(form, title);
      landed = document.activeElement === title;
    };
    await asking.run("/api/answer", { ...from, answer, rather_than: rather, players: players || null, removal }, (event) => {
      if (event.event === "text") {
        if (!words) {
          words = element("p", { className: "quoted", dir: "auto", ariaLive: "off" });
          const title = element("h1", { textContent: "The model answers" });
          put(result, title, words, element("p", { className: "small soft", textContent: "Which passages led to it comes next." }));
          asking.arrived();
          land(title);
        }
        words.textContent = event.text;
        if (!event.whole) asking.clock.say("The model answers", event.seconds_left);
      }
      if (event.event === "result") {
        const read = document.activeElement === result.querySelector("h1"); // who stands at the heading stays there
        const open = main ? [...main.querySelectorAll("details")].map((each) => each.open && each.querySelector("summary").textContent) : [];
        const title = element("h1", { textContent: event.title });
        main = put(result, title, ...event.made);
        for (const each of main.querySelectorAll("details")) each.open ||= open.includes(each.querySelector("summary").textContent);
        answers(main);
        if (read) {
          title.tabIndex = -1;
          title.focus({ preventScroll: true });
        } else land(title);
      }
      if (event.event === "done") {
        past.set(JSON.stringify(given), { main, page: event.page });
        if (past.size > KEPT) past.delete(past.keys().next().value);
        view.page = () => event.page;
        frame.savable();
      }
    });
  }
  asking.cancel.addEventListener("click", brief.open);
  asking.failed = (error) => {
    brief.open();
    Asking.prototype.failed.call(asking, error);
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  form.addEventListener("input", () => {
    shape();
    asking.stop();
    asking.age();
    asking.tell("");
    view.page = null;
    frame.savable();
  });

  // Takes what a link says; returns what of it does not exist here.
  function restore(query) {
    modes[query.has("prompt") ? 1 : 0].checked = true;
    const lost = [];
    for (const [name, field] of Object.entries(fields)) {
      const value = query.get(name) ?? "";
      if (field.tagName !== "SELECT") field.value = value;
      else if (!pick(field, value) && value) lost.push(`${name} “${value.slice(0, 30)}”`);
    }
    shape();
    return lost;
  }

  const view = {
    holds: Object.keys(fields), // what its links may say
    page: null,
    async enter(query) {
      if (!query.has("context") && !query.has("prompt")) {
        if (interrupted) ask();
        else if (asked) frame.remember("answers", settings());
        return;
      }
      const long = Object.entries(fields).map(([name, field]) => tooLong(field, query.get(name) ?? "")).find(Boolean);
      if (long) return asking.tell(long);
      const lost = restore(query);
      const found = past.get(JSON.stringify(settings()));
      if (!found) await ask(false);
      else {
        asking.stop();
        result.replaceChildren(found.main);
        asking.age(false);
        brief.shrink();
        view.page = () => found.page;
        frame.savable();
      }
      if (lost.length) asking.tell(`This link asks for what is not available here: ${lost.join(", ")}`);
    },
    leave() {
      interrupted ||= asking.running;
      asking.stop();
    },
  };
  return view;
}
