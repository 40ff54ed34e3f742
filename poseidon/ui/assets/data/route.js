// The state of the page is its hash, so that all that is shown can be linked: #/view/part/part?key=value.

import { isFile } from "./api.js";
import { store } from "./store.js";

const HOME = "overview";

function read(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const parts = path.split("/").filter(Boolean).map(decoded);
  return {
    view: parts[0] || HOME,
    parts: parts.slice(1),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = store(read(location.hash));

addEventListener("hashchange", () => route.set(read(location.hash)));

/** A link within the page; null, which makes plain text of an anchor, where there is no other view to go to. */
export function link(parts, query) {
  return isFile ? null : address(parts, query);
}

/** An address within the page; parameters that are empty are left out. */
function address(parts, query = {}) {
  const asked = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") asked.set(key, String(value));
  }
  const path = [].concat(parts).map(encodeURIComponent).join("/");
  return `#/${path}${asked.size ? `?${asked}` : ""}`;
}

/** A link to a pod by "namespace/name". */
export function podLink(name) {
  const cut = name.indexOf("/");
  return link(["pods", name.slice(0, cut), name.slice(cut + 1)]);
}

/** Go there; `replace` leaves no entry in the history (for changes of a setting). */
export function go(hash, { replace = false } = {}) {
  if (replace) {
    history.replaceState(null, "", hash);
    route.set(read(hash));
  } else {
    location.hash = hash;
  }
}

/** Change parameters of what is shown. */
export function adjust(changes, options) {
  const { view, parts, query } = route.get();
  go(address([view, ...parts], { ...query, ...changes }), options);
}
