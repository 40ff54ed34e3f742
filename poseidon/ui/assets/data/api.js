// Asks the server. Answers are kept by path with their ETags, at most MOST_KEPT of them, so that a view that is opened again shows
// its last data at once and an answer that has not changed costs no body.

const BASE = "api/v1/";
const MOST_KEPT = 40;
const kept = new Map(); // path -> {tag, data}; the order is that of use
const MOST_SKEW = 2; // seconds by which this clock and the server's may differ without being heeded
let skew = 0;

// A page that is a single file has its answers in it, and no server.
const saved = document.getElementById("answers");
const answers = saved && new Map(Object.entries(JSON.parse(saved.textContent)));
export const isFile = answers !== null;

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status; // 0: no answer at all
  }
}

/** The path of a question, with the parameters that are there; an empty one is asked for as such. */
export function pathOf(parts, query = {}) {
  const asked = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) asked.set(key, String(value));
  }
  const path = parts.map((part) => encodeURIComponent(part)).join("/");
  return asked.size ? `${path}?${asked}` : path;
}

/** Seconds since the epoch by the server's clock, which is the one that ages are counted from. */
export function serverNow() {
  return Date.now() / 1000 + skew;
}

function compareClocks(response) {
  const found = Date.parse(response.headers.get("Date")) / 1000 - Date.now() / 1000;
  if (Number.isFinite(found)) skew = Math.abs(found) > MOST_SKEW ? found : 0;
}

export function lastKnown(path) {
  return kept.get(path)?.data;
}

function keep(path, entry) {
  kept.delete(path);
  kept.set(path, entry);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
}

async function send(path, options) {
  if (isFile)
    throw new ApiError("This file contains only one view; a running dashboard shows the others.", 404);
  let response;
  try {
    response = await fetch(BASE + path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The dashboard's server does not answer.", 0);
  }
  compareClocks(response);
  if (response.ok || response.status === 304) return response;
  let message = `The server answered ${response.status}.`;
  try {
    message = (await response.json()).error || message;
  } catch {
    // An answer without a line for people; the status has to do.
  }
  throw new ApiError(String(message), response.status);
}

/** The data of a path; the same object as last time when nothing has changed. */
export async function get(path, signal) {
  if (answers?.has(path)) return answers.get(path);
  const before = kept.get(path);
  const headers = before?.tag ? { "If-None-Match": before.tag } : {};
  const response = await send(path, { headers, signal });
  if (response.status === 304 && before) {
    keep(path, before);
    return before.data;
  }
  const data = await response.json();
  keep(path, { tag: response.headers.get("ETag"), data });
  return data;
}

export async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json", "X-Poseidon": "1" };
  const response = await send(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  return response.json();
}
