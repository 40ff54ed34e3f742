// Parts that several views are made of: cards, panels, states of waiting, tables' pages.

import { useEscape } from "../data/hooks.js";
import { own } from "../data/own.js";
import { link } from "../data/route.js";
import { count, cut } from "../data/text.js";
import { html, useEffect, useRef } from "../vendor/preact.js";

export function Card({ title, end, sub, wide = false, className = "", children }) {
  return html`<section class="card ${className}">
    ${
      title &&
      html`<header>
      <h2>${title}</h2>
      ${sub && html`<span class="muted small">${sub}</span>`} ${end && html`<span class="end small">${end}</span>`}
    </header>`
    }
    <div class=${wide ? "wide" : "body"}>${children}</div>
  </section>`;
}

/** A panel beside a picture. It takes the focus when it opens or shows another thing, and closes on Escape. */
export function Panel({ kind, title, close, children }) {
  const heading = useRef(null);
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    heading.current?.focus({ preventScroll: true });
    return () => before?.isConnected && before.focus?.({ preventScroll: true });
  }, [title]);
  useEscape(close);
  return html`<aside class="card panel" aria-label="${kind} ${cut(title, 80)}">
    <header>
      <h2 tabindex="-1" ref=${heading}>
        <span class="kind">${kind}</span><br />
        <span class="name">${title}</span>
      </h2>
      <button class="button quiet icon" aria-label="Close the panel" title="Close (Esc)" onClick=${close}>
        <${Cross} />
      </button>
    </header>
    <div class="body">${children}</div>
  </aside>`;
}

export function Cross() {
  return html`<svg viewBox="0 0 16 16" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.5">
    <path d="M4 4l8 8M12 4l-8 8" />
  </svg>`;
}

export function Section({ title, hint, children }) {
  return html`<section class="section">
    <h3>${title}</h3>
    ${hint && html`<p class="hint">${hint}</p>`} ${children}
  </section>`;
}

export function Loading({ tall = 160, label = "Loading" }) {
  const bone = useRef(null);
  useEffect(() => {
    bone.current.style.height = `${tall}px`;
  }, [tall]);
  return html`<div class="bone" ref=${bone}><span class="unseen">${label}</span></div>`;
}

export function Empty({ title, children, tight }) {
  return html`<div class="note ${tight ? "tight" : ""}"><strong>${title}</strong>${children}</div>`;
}

export function Failure({ error }) {
  return error ? html`<p class="failure" role="alert">${error.message}</p>` : null;
}

/** What stands in place of data: that it loads, or why there is none; null when there is data. */
export function Instead({ state, tall }) {
  if (state.data !== undefined) return null;
  return state.error ? html`<${Failure} error=${state.error} />` : html`<${Loading} tall=${tall} />`;
}

const WHY_NOT = {
  manifests: "Manifests do not contain this; the dashboard of a running cluster shows it.",
  rounds: "Saved rounds do not contain this; the dashboard of a running cluster shows it.",
  live: "The running programs do not provide this: they may be of an older version, or unreachable.",
};

export function Unavailable({ what, session }) {
  return html`
    <${Card}>
      <${Empty} title="${what} is not known here">
        ${own(WHY_NOT, session.source) ?? "The source does not have this."}
    <//>
  <//>`;
}

export function Badge({ tone = "", children, title }) {
  return html`<span class="badge ${tone}" title=${title}>${children}</span>`;
}

const PHASES = { bound: "good", pending: "warn", gated: "", ended: "", gone: "" };

export function Phase({ phase }) {
  return html`<${Badge} tone=${own(PHASES, phase) ?? ""}>${phase}<//>`;
}

/** A few choices of which one holds. */
export function Choices({ label, options, value, choose }) {
  return html`<div class="choices" role="group" aria-label=${label}>
    ${options.map(
      ([key, text]) =>
        html`
          <button key=${key} aria-pressed=${String(key === value)} onClick=${() => choose(key)}>${text}
        </button>`,
    )}
  </div>`;
}

export function Select({ label, options, value, choose }) {
  return html`<label class="field">
    <span>${label}</span>
    <select value=${value} onChange=${(event) => choose(event.target.value)}>
      ${options.map(
        ([key, text]) =>
          html`<option key=${key} value=${key} selected=${key === value}>${cut(text, 60)}</option>`,
      )}
    </select>
  </label>`;
}

/** The head of a table: titles, or pairs of a title and what it is ("number", "unseen" or both). */
export function Head({ columns }) {
  return html`<thead>
    <tr>
      ${columns.map((column) => {
        const [title, kind = ""] = [].concat(column);
        const shown = kind.includes("unseen") ? html`<span class="unseen">${title}</span>` : title;
        return html`<th scope="col" class=${kind.includes("number") ? "number" : ""}>${shown}</th>`;
      })}
    </tr>
  </thead>`;
}

/** Earlier and later pages of a list. */
export function Pages({ offset, limit, total, turn, noun }) {
  if (total <= limit) return null;
  const last = Math.min(offset + limit, total);
  return html`<nav class="pages" aria-label="Pages of ${noun}">
    <span>${count(offset + 1)} to ${count(last)} of ${count(total)}</span>
    <button
      class="button quiet"
      disabled=${offset === 0}
      onClick=${() => turn(Math.max(0, offset - limit))}>Earlier</button>
    <button class="button quiet" disabled=${last >= total} onClick=${() => turn(offset + limit)}>Later</button>
  </nav>`;
}

/** A name that may be long; all of it is in the title. */
export function Name({ text, most = 60 }) {
  const whole = String(text);
  return html`
    <span class="name" title=${whole.length > most ? cut(whole, 400) : undefined}>${cut(whole, most)}
  </span>`;
}

export function NodeLink({ name, most = 48 }) {
  return html`<a class="nowrap" href=${link("cluster", { node: name })}><${Name} text=${name} most=${most} /></a>`;
}
