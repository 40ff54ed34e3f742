// What components need of the server, the window and the theme.

import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { get, isFile, lastKnown, serverNow } from "./api.js";
import { versions } from "./live.js";
import { store, useStore } from "./store.js";

/**
 * The data of a path, asked again when `part` of the versions moves on (the name of a part, "" for never). What was known stays
 * while it is asked again and when that fails; `previous` is the last data of the path before, for pictures that would rather not
 * vanish meanwhile. A question that nobody waits for any more is given up.
 */
export function useData(path, part) {
  const [, redraw] = useState(0);
  const state = useRef({ path: null, data: undefined, error: null, previous: undefined });
  if (state.current.path !== path) {
    const { data, previous } = state.current;
    state.current = {
      path,
      data: path === null ? undefined : lastKnown(path),
      error: null,
      previous: data ?? previous,
    };
  }
  const vector = useStore(versions);
  const version = part ? `${vector[part] ?? 0}.${vector.attempts ?? 0}` : "";
  useEffect(() => {
    if (path === null) return undefined;
    const waiting = new AbortController();
    const settle = (change) => {
      if (state.current.path !== path || waiting.signal.aborted) return;
      state.current = { ...state.current, ...change };
      redraw((n) => n + 1);
    };
    get(path, waiting.signal).then(
      (data) => {
        if (data !== state.current.data || state.current.error) settle({ data, error: null });
      },
      (error) => error.name !== "AbortError" && settle({ error }),
    );
    return () => waiting.abort();
  }, [path, version]);
  const { data, error, previous } = state.current;
  return { data, error, previous, loading: data === undefined && error === null };
}

/** Width and height of an element, followed. */
export function useSize(element) {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const node = element.current;
    if (!node) return undefined;
    const measure = () => {
      const { width, height } = node.getBoundingClientRect();
      setSize((old) =>
        Math.abs(old.width - width) < 1 && Math.abs(old.height - height) < 1 ? old : { width, height },
      );
    };
    measure();
    const follower = new ResizeObserver(measure);
    follower.observe(node);
    return () => follower.disconnect();
  }, [element.current]);
  return size;
}

const clock = store(serverNow());
if (!isFile) setInterval(() => clock.set(serverNow()), 1000);

/** The time by the server's clock, each second, for ages that are shown. */
export function useNow() {
  return useStore(clock);
}

/** Calls `close` on Escape. */
export function useEscape(close) {
  const latest = useRef(close);
  latest.current = close;
  useEffect(() => {
    const pressed = (event) => event.key === "Escape" && !event.defaultPrevented && latest.current();
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}
