// The search box: pods by a part of namespace/name, as a combobox. `/` focuses it from everywhere.

import { announce } from "../data/announce.js";
import { get, pathOf } from "../data/api.js";
import { go, link, podLink } from "../data/route.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Phase } from "./parts.js";

const PAUSE = 120; // milliseconds without a key, after which it is asked

function isTyping(target) {
  return (
    target instanceof HTMLElement && (target.matches("input, select, textarea") || target.isContentEditable)
  );
}

/** Pods found for a text, asked when typing pauses. */
function useFound(text) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    setFound(null);
    if (!text.trim()) return undefined;
    const waiting = new AbortController();
    const timer = setTimeout(() => {
      get(pathOf(["pods"], { q: text.trim(), limit: 12 }), waiting.signal).then(
        (data) => {
          setFound(data);
          announce(data.total === 1 ? "1 pod found" : `${data.total} pods found`);
        },
        (error) => error.name !== "AbortError" && setFound({ total: 0, items: [], error }),
      );
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      waiting.abort();
    };
  }, [text]);
  return found;
}

export function Search() {
  const box = useRef(null);
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const found = useFound(open ? text : "");
  const items = found?.items ?? [];

  useEffect(() => {
    const pressed = (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return;
      event.preventDefault();
      box.current.focus();
      box.current.select();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);

  const leave = (hash) => {
    setOpen(false);
    setText("");
    box.current.blur();
    go(hash);
  };

  const keys = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (items.length) setChosen((at) => (at + step + items.length) % items.length);
    } else if (event.key === "Enter" && text.trim()) {
      if (items[chosen]) leave(podLink(items[chosen].name));
      else if (items.length === 1) leave(podLink(items[0].name));
      else leave(link("pods", { q: text.trim() }));
    } else if (event.key === "Escape") {
      event.preventDefault();
      setOpen(false);
      box.current.blur();
    }
  };

  const shown = open && text.trim() !== "";
  return html`<div class="search" role="search">
    <input
      ref=${box}
      type="text"
      role="combobox"
      aria-label="Find a pod"
      aria-expanded=${String(shown)}
      aria-controls="found"
      aria-autocomplete="list"
      aria-activedescendant=${shown && chosen >= 0 ? `found-${chosen}` : undefined}
      placeholder="Find a pod"
      spellcheck="false"
      autocomplete="off"
      value=${text}
      onInput=${(event) => {
        setText(event.target.value);
        setChosen(-1);
        setOpen(true);
      }}
      onFocus=${() => setOpen(true)}
      onBlur=${() => setOpen(false)}
      onKeyDown=${keys}
    />
    <kbd class="key" aria-hidden="true">/</kbd>
    ${shown && html`<${Found} found=${found} chosen=${chosen} pick=${(item) => leave(podLink(item.name))} />`}
  </div>`;
}

function Found({ found, chosen, pick }) {
  if (found === null) return html`<div class="found" id="found"><p class="none">Searching</p></div>`;
  if (!found.items.length) {
    const why = found.error ? found.error.message : "No pod's name contains this text.";
    return html`<div class="found" id="found"><p class="none">${why}</p></div>`;
  }
  // The press, not the click: the box must not lose the focus first.
  return html`<ul class="found" id="found" role="listbox" aria-label="Pods found">
    ${found.items.map(
      (item, i) => html`<li
        key=${item.name}
        id="found-${i}"
        role="option"
        aria-selected=${String(i === chosen)}
        onMouseDown=${(event) => {
          event.preventDefault();
          pick(item);
        }}
      >
        <span class="name">${item.name}</span>
        <${Phase} phase=${item.phase} />
      </li>`,
    )}
  </ul>`;
}
