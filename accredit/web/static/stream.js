// Requests to the server: one answer, or one event per line as they come. Aborting the signal cancels the work behind it.

export class Problem extends Error {}
export class Locked extends Problem {} // the key is missing, or is that of an earlier server

// Why something failed, in words. What is neither the server's word nor a broken connection is a fault of the page.
export const reason = (error) => (error instanceof Problem ? error.message : `the page itself failed (${error.message}); reload it`);

// A connection may break before the answer or while it is read.
async function reached(reply) {
  try {
    return await reply;
  } catch (error) {
    throw error.name === "AbortError" ? error : new Problem("the server cannot be reached; is accredit serve still running?");
  }
}

// Half of the key is a cookie that goes with every request to this host; the other half is kept here, where only pages of this
// port can read it, and goes as a header.
const PLACE = "accredit page";
let half = "";
try {
  half = localStorage.getItem(PLACE) ?? "";
} catch {} // a browser that keeps nothing: the key is asked for again after a reload

export function keep(given) {
  half = given;
  try {
    localStorage.setItem(PLACE, given);
  } catch {}
}

// The key, alone or in an address, for the two halves.
export async function enter(given) {
  const key = given.trim().replace(/^.*[?&]token=/, "");
  keep((await ask("/api/enter", { key })).page);
}

function fetched(path, { headers, ...options }) {
  return reached(fetch(path, { ...options, headers: { ...headers, "x-accredit-page": half } }));
}

async function checked(response) {
  if (response.ok) return response;
  const problem = response.headers.get("content-type")?.startsWith("application/json")
    ? (await reached(response.json())).problem
    : await reached(response.text());
  const Kind = response.status === 403 ? Locked : Problem;
  if (Kind === Locked) dispatchEvent(new Event("locked"));
  throw new Kind(problem || `the server answered ${response.status}`);
}

export async function get(path, signal) {
  const response = await checked(await fetched(path, { signal }));
  return response.status === 204 ? null : reached(response.json());
}

export async function file(path) {
  return reached((await checked(await fetched(path, {}))).blob());
}

async function post(path, asked, signal, method = "POST") {
  const headers = { "content-type": "application/json" };
  return checked(await fetched(path, { method, headers, body: JSON.stringify(asked), signal }));
}

export async function ask(path, asked, signal) {
  return reached((await post(path, asked, signal)).json());
}

export async function send(method, path, asked = {}) {
  return reached((await post(path, asked, undefined, method)).json());
}

export async function* events(path, asked, signal) {
  const response = await post(path, asked, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reached(reader.read());
    if (done) return;
    const lines = value.split("\n");
    lines[0] = rest + lines[0];
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}
