// Bars in lists and tables: a share of a most, a stack of parts, a resource with its threshold, a small line over time.

import { own } from "../data/own.js";
import { points } from "../data/text.js";
import { html, useLayoutEffect, useRef } from "../vendor/preact.js";
import { seriesColour } from "./colour.js";

/** Sets properties of an element's style; the page's policy forbids style attributes in markup, not this. */
export function useStyle(values) {
  const element = useRef(null);
  useLayoutEffect(() => {
    for (const [key, value] of Object.entries(values)) element.current?.style.setProperty(key, value);
  }, Object.values(values));
  return element;
}

function percent(part) {
  return `${Math.min(100, Math.max(0, 100 * part)).toFixed(2)}%`;
}

/** `part` of the whole width, 0 to 1. Says nothing by itself: the number stands beside it. */
export function Bar({ part, tone = "", colour = "" }) {
  const element = useStyle({ width: percent(part), background: colour ?? "" });
  return html`<span class="bar" aria-hidden="true"><span class="fill ${tone}" ref=${element}></span></span>`;
}

function Piece({ part, colour, title }) {
  const element = useStyle({ width: percent(part), background: colour });
  return html`<span class="piece" ref=${element} title=${title}></span>`;
}

/** A stack of named parts of `most`; the order of `names` gives the colours. */
export function Stack({ names, values, most }) {
  const text = names
    .filter((name) => own(values, name))
    .map((name) => `${name} ${points(own(values, name))}`)
    .join(", ");
  return html`<span class="bar stacked" role="img" aria-label=${text || "nothing"}>
    ${names.map(
      (name, i) =>
        own(values, name) > 0 &&
        html`
          <${Piece}
            key=${name}
            part=${own(values, name) / (most || 1)}
            colour=${seriesColour(i)}
            title="${name} ${points(own(values, name))}"
          />`,
    )}
  </span>`;
}

function Swatch({ colour }) {
  return html`<i class="swatch" ref=${useStyle({ background: colour })}></i>`;
}

/** What the colours of stacks mean. */
export function StackLegend({ names, values }) {
  return html`<ul class="legend">
    ${names.map(
      (name, i) =>
        html`
          <li key=${name}>
            <${Swatch} colour=${seriesColour(i)} />
            <span class="name">${name}
          </span>
            ${values && html` <b>${points(own(values, name))}</b>`}
        </li>`,
    )}
  </ul>`;
}

/** A resource of a node: what is requested as the bar, what is used as the line in it, the threshold as a tick. */
export function ResourceBar({ requested, used, allocatable, threshold }) {
  const whole = allocatable || Math.max(requested || 0, used || 0) || 1;
  const most = Math.max(whole, requested || 0, used || 0);
  const fill = useStyle({ width: percent((requested || 0) / most) });
  const line = useStyle({ width: percent((used ?? 0) / most) });
  const tick = useStyle({ left: percent(((threshold ?? 0) / 100) * (whole / most)) });
  const over = (requested || 0) > whole;
  const hot = threshold && used !== null && used !== undefined && used / whole > threshold / 100;
  return html`<span class="bar resource" aria-hidden="true">
    <span class="fill ${over ? "bad" : ""}" ref=${fill}></span>
    ${used !== null && used !== undefined && html`<span class="used ${hot ? "bad" : ""}" ref=${line}></span>`}
    ${threshold ? html`<span class="tick" ref=${tick}></span>` : null}
  </span>`;
}

/** A line without axes over the whole width; values are per mille. */
export function Spark({ label, at, lines }) {
  if (at.length < 2) return null;
  const [width, height] = [320, 44];
  const span = at[at.length - 1] - at[0] || 1;
  const most = Math.max(1000, ...lines.flatMap((line) => line.values.map((value) => value ?? 0)));
  const path = (values) => {
    let pen = "M";
    const steps = [];
    values.forEach((value, i) => {
      if (value === null || value === undefined) pen = "M";
      else {
        steps.push(
          `${pen}${(((at[i] - at[0]) / span) * width).toFixed(1)} ${(height - 2 - (value / most) * (height - 4)).toFixed(1)}`,
        );
        pen = "L";
      }
    });
    return steps.join("");
  };
  return html`
    <svg class="spark" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label=${label}>
    ${lines.map(
      (line) =>
        html`
        <path
          key=${line.name}
          d=${path(line.values)}
          fill="none"
          stroke=${line.colour}
          stroke-width="1.5"
          vector-effect="non-scaling-stroke"
        />`,
    )}
  </svg>`;
}
