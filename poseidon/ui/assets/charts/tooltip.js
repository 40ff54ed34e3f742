// A small box beside the pointer.

import { html, useLayoutEffect, useRef } from "../vendor/preact.js";

/** `x`, `y`: of the pointer, in the window; `facts`: pairs of a word and its value. */
export function Tooltip({ x, y, head, facts, children }) {
  const box = useRef(null);
  useLayoutEffect(() => {
    const { width, height } = box.current.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - width - 12 : x + 16;
    const top = y + 16 + height > innerHeight ? y - height - 12 : y + 16;
    box.current.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, top)}px)`;
  }, [x, y, head]);
  return html`<div class="tooltip" ref=${box} aria-hidden="true">
    <div class="head">${head}</div>
    ${
      facts &&
      html`
        <dl class="facts">${facts.map(([word, value]) => html`<dt>${word}</dt><dd>${value}</dd>`)}
      </dl>`
    } ${children}
  </div>`;
}
