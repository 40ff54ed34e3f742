// The stream of changes: one EventSource that tells which views have newer data. A stream that breaks is opened again, ever
// later up to MOST_WAIT; after each attempt that fails the shown view asks once by itself, so that the page stays useful where
// streams are refused (too many pages are open) and only the stream is missing.

import { isFile } from "./api.js";
import { store } from "./store.js";

const FIRST_WAIT = 1000;
const MOST_WAIT = 30000;
const SILENCE = 45000; // the server writes a line every 15 s

export const versions = store({});
export const connection = store({ state: "connecting", retryAt: 0 });

let source = null;
let wait = FIRST_WAIT;
let timer = 0;
let watchdog = 0;
let attempts = 0;

function alive() {
  clearTimeout(watchdog);
  watchdog = setTimeout(broken, SILENCE);
}

function ask() {
  attempts += 1;
  versions.set({ ...versions.get(), attempts });
}

function opened() {
  wait = FIRST_WAIT;
  if (connection.get().state === "broken") ask();
  connection.set({ state: "connected", retryAt: 0 });
  alive();
}

function changed(event) {
  alive();
  try {
    versions.set({ ...JSON.parse(event.data), attempts });
  } catch {
    // Not ours to read; the next one will do.
  }
}

function broken() {
  close();
  ask();
  const pause = wait * (0.75 + Math.random() / 2);
  wait = Math.min(2 * wait, MOST_WAIT);
  connection.set({ state: "broken", retryAt: Date.now() + pause });
  timer = setTimeout(open, pause);
}

function close() {
  clearTimeout(watchdog);
  clearTimeout(timer);
  source?.close();
  source = null;
}

export function open() {
  close();
  if (isFile) {
    connection.set({ state: "connected", retryAt: 0 });
    return;
  }
  source = new EventSource("api/v1/events");
  source.addEventListener("open", opened);
  source.addEventListener("changed", changed);
  source.addEventListener("error", broken);
}

/** Begin; pages that are hidden have no stream, and catch up when they are looked at. */
export function start() {
  open();
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") close();
    else if (source === null) open();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", () => source === null && open());
}
