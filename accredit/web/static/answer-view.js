// Answers: passages, a question and an answer; the prompt is coloured for the word of the answer that one points at.
import { answers } from "/static/answers.js";
import { Asking, element, nodes, pick, put } from "/static/page-parts.js";

const EXAMPLE = {
  context: "Anna has the job of Boris .\nClara owns a dog .\nBoris works as a baker .\nDavid lives in Oslo .",
  query: "What does Anna do ?",
};

export function answerView(about, frame) {
  const by = (id) => document.getElementById(id);
  const form = by("answers-form");
  const result = by("answers-result");
  const asking = new Asking(form, result);
  const fields = { context: by("passages"), query: by("query"), answer: by("answer"), rather: by("rather"), players: by("answer-players"), removal: by("answer-removal") };
  let asked = false;
  let interrupted = false; // left while it was computed
  let shown = ""; // the settings of the last result that came to its end

  if (about.builtin) for (const [name, value] of Object.entries(EXAMPLE)) fields[name].value = value;
  by("answers-none").hidden = about.answers;
  const settings = () => Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value]));

  async function ask() {
    asked = true;
    interrupted = false;
    const given = settings();
    frame.remember("answers", given);
    view.page = null;
    frame.savable();
    const { context, query, answer, rather, players, removal } = given;
    const request = { context: context.split("\n").filter((line) => line.trim()), query, answer, rather_than: rather, players, removal };
    await asking.run("/api/answer", request, (event) => {
      if (event.event === "result") answers(put(result, element("h1", { textContent: event.title }), ...nodes(event.html)));
      if (event.event === "done") {
        view.page = () => event.page;
        shown = JSON.stringify(given);
        frame.savable();
      }
    });
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });

  const view = {
    page: null,
    enter(query) {
      if (query.has("context")) {
        for (const [name, field] of Object.entries(fields)) {
          if (field.tagName === "SELECT") pick(field, query.get(name) ?? "");
          else field.value = query.get(name) ?? "";
        }
        if (!view.page || JSON.stringify(settings()) !== shown) ask(); // else it is still here
      } else if (interrupted) ask();
      else if (asked) frame.remember("answers", settings());
    },
    leave() {
      interrupted ||= asking.running;
      asking.stop();
    },
  };
  return view;
}
