// Requests to the server: one answer, or one event per line as they come. Aborting the signal cancels the work behind it.

export class Problem extends Error {}
export const UNREACHABLE = "the server cannot be reached; is accredit serve still running?";

async function refusal(response) {
  const problem = response.headers.get("content-type")?.startsWith("application/json")
    ? (await response.json()).problem
    : await response.text();
  return new Problem(problem || `the server answered ${response.status}`);
}

export async function get(path, signal) {
  const response = await fetch(path, { signal });
  if (!response.ok) throw await refusal(response);
  return response.status === 204 ? null : response.json();
}

function post(path, asked, signal, method = "POST") {
  return fetch(path, {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(asked),
    signal,
  });
}

export async function ask(path, asked, signal) {
  const response = await post(path, asked, signal);
  if (!response.ok) throw await refusal(response);
  return response.json();
}

export async function send(method, path, asked = {}) {
  const response = await post(path, asked, undefined, method);
  if (!response.ok) throw await refusal(response);
  return response.json();
}

export async function* events(path, asked, signal) {
  const response = await post(path, asked, signal);
  if (!response.ok) throw await refusal(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}
