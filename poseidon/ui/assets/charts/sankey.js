// The priced flow as a picture. Width is flow, colour is the price of a place; what is saturated has a dark outline and hatching.

import { useSize } from "../data/hooks.js";
import { useStore } from "../data/store.js";
import { count, cut, many, points, short } from "../data/text.js";
import { theme } from "../data/theme.js";
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { colourOf } from "./colour.js";
import { fitting, isolated, widthOf } from "./measure.js";
import { ScaleLegend } from "./price_scale.js";
import { layout, neighbour, ribbon, ways } from "./sankey_layout.js";
import { Tooltip } from "./tooltip.js";

const TITLES = ["Classes", "Placed on, or prevented by", "Outcome"];
const LEAST_WIDTH = 820;
const ARROWS = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"]);

function Hatching() {
  return html`<defs>
    <pattern id="cut-pattern" patternUnits="userSpaceOnUse" width="7" height="7" patternTransform="rotate(45)">
      <line class="cut-line" x1="0" y1="0" x2="0" y2="7" />
    </pattern>
  </defs>`;
}

/** What a node is, in words. */
export function saidOf(node) {
  const price = node.price === null || node.price === undefined ? "" : `, price ${points(node.price)}`;
  return `${cut(node.label, 80)}: ${many(node.tasks, "pod")}${price}${node.saturated ? ", saturated" : ""}${
    node.sub ? `, ${node.sub}` : ""
  }`;
}

function Label({ node, drawn, chosen }) {
  const middle = (node.y0 + node.y1) / 2;
  const tall = node.y1 - node.y0 > 30;
  const first = node.layer === 0;
  const x = first ? node.x0 - 8 : node.x1 + 8;
  const anchor = first ? "end" : "start";
  const room = (first ? node.x0 : (drawn.columns[node.layer + 1] ?? drawn.width) - node.x1) - 18;
  const number = tall ? `${short(node.tasks)} ${node.tasks === 1 ? "pod" : "pods"}` : short(node.tasks);
  const whole = `${number} · ${node.sub}`;
  const sub = node.sub && !first && widthOf(whole, 11, 400) < room ? whole : number;
  const name = isolated(fitting(node.label, tall ? room : room - widthOf(number, 11, 400) - 8));
  return html`
    <text class="label ${chosen ? "chosen" : ""}" x=${x} y=${tall ? middle - 3 : middle + 4} text-anchor=${anchor}>
      ${name}
      ${!tall && html`<tspan class="sub" dx="6">${number}</tspan>`}
  </text>
    ${tall && html`<text class="sub" x=${x} y=${middle + 12} text-anchor=${anchor}>${sub}</text>`}`;
}

function Band({ link, colour, lit, hover }) {
  const { area, edges } = useMemo(() => ribbon(link), [link]);
  const state = lit ? "lit" : "";
  return html`<g>
    <path
      class="ribbon ${state} ${colour ? "" : "unknown"}"
      d=${area}
      fill=${colour ?? undefined}
      onMouseMove=${(event) => hover(event, link)}
    />
    ${link.saturated && link.width >= 4 && html`<path class="cut-area ${state}" d=${area} />`}
    ${link.saturated && html`<path class="cut-edge ${state} ${link.width < 4 ? "fine" : ""}" d=${edges} />`}
  </g>`;
}

function Block({ node, drawn, colour, current, chosen, on }) {
  const height = Math.max(node.y1 - node.y0, 2.5);
  const middle = (node.y0 + node.y1) / 2;
  const hit = {
    x: node.layer === 0 ? 4 : node.x0 - 3,
    width: node.layer === 0 ? node.x1 - 1 : node.layer === 2 ? 120 : 182,
  };
  const tall = Math.max(height, 15);
  return html`<g
    class="node ${chosen ? "chosen" : ""}"
    role="button"
    tabindex=${current ? 0 : -1}
    aria-label=${saidOf(node)}
    aria-pressed=${String(chosen)}
    data-id=${node.id}
    onMouseMove=${(event) => on.hover(event, node)}
    onClick=${() => on.choose(node)}
    onFocus=${() => on.focus(node)}
  >
    <rect
      class="hit"
      x=${hit.x}
      y=${middle - tall / 2 - 1}
      width=${Math.min(hit.width, drawn.width - hit.x)}
      height=${tall + 2}
      rx="3"
    />
    <rect
      class="block ${node.saturated ? "cut" : ""} ${colour ? "" : "unknown"}"
      x=${node.x0}
      y=${middle - height / 2}
      width=${drawn.block}
      height=${height}
      rx="2"
      fill=${colour ?? undefined}
    />
  </g>`;
}

/** `choose` is called with a node; `at` is the id of the node that is chosen. */
export function Sankey({ flow, at, choose, hold }) {
  const place = useRef(null);
  const size = useSize(place);
  const colours = useStore(theme);
  const [tip, setTip] = useState(null);
  const [focused, setFocused] = useState(null);
  const width = Math.max(LEAST_WIDTH, size.width);
  const drawn = useMemo(() => (size.width ? layout(flow, width) : null), [flow, width, size.width > 0]);
  const lit = useMemo(() => {
    const id = tip?.id ?? at;
    return drawn && id ? ways(drawn, id) : null;
  }, [drawn, tip?.id, at]);
  const colour = (price) =>
    price === null || price === undefined || !flow.priceMost
      ? null
      : colourOf(price / flow.priceMost, colours);
  useEffect(() => {
    const names = drawn?.nodes.map((node) => node.id);
    if (names && !names.includes(focused)) setFocused(names[0]);
  }, [drawn]);

  const away = () => {
    setTip(null);
    hold(false);
  };
  const on = {
    hover: (event, node) => {
      hold(true);
      setTip({ id: node.id, x: event.clientX, y: event.clientY, node });
    },
    choose,
    focus: (node) => setFocused(node.id),
  };
  const keys = (event) => {
    if (ARROWS.has(event.key)) {
      event.preventDefault();
      const next = neighbour(drawn, focused, event.key);
      place.current.querySelector(`[data-id="${CSS.escape(next.id)}"]`)?.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      const node = drawn.nodes.find((each) => each.id === focused);
      if (node) choose(node);
    }
  };
  const hoverLink = (event, link) => {
    hold(true);
    setTip({ id: link.key, x: event.clientX, y: event.clientY, link });
  };
  return html`<div class="flow-scroll" ref=${place}>
    ${
      drawn &&
      html`<svg
      class="flow-picture ${lit ? "focused" : ""}"
      width=${drawn.width}
      height=${drawn.height}
      role="group"
      aria-label="Flow of round ${flow.round}; arrow keys move, Enter opens"
      onMouseLeave=${away}
      onKeyDown=${keys}
    >
      <${Hatching} />
      ${TITLES.map(
        (title, i) =>
          html`
          <text
            class="column-title"
            x=${i === 0 ? drawn.columns[0] + drawn.block : drawn.columns[i]}
            y="14"
            text-anchor=${i === 0 ? "end" : "start"}>
            ${title}
        </text>`,
      )}
      <g>
        ${drawn.links.map(
          (link) =>
            html`
            <${Band}
              key=${link.key}
              link=${link}
              colour=${colour(link.price)}
              lit=${lit?.has(link.key)}
              hover=${hoverLink}
            />`,
        )}
      </g>
      ${drawn.nodes.map(
        (node) =>
          html`
          <${Block}
            key=${node.id}
            node=${node}
            drawn=${drawn}
            colour=${colour(node.price)}
            current=${node.id === focused}
            chosen=${node.id === at}
            on=${on}
          />`,
      )}
      <g class="labels" aria-hidden="true">
        ${drawn.nodes.map(
          (node) => html`<${Label} key=${node.id} node=${node} drawn=${drawn} chosen=${node.id === at} />`,
        )}
      </g>
    </svg>`
    }
    ${
      tip?.node &&
      html`
        <${Tooltip} x=${tip.x} y=${tip.y} head=${cut(tip.node.label, 160)} facts=${factsOf(tip.node)}>
          ${tip.node.sub && html`<div class="muted">${tip.node.sub}</div>`}
      <//>`
    }
    ${
      tip?.link &&
      html`
        <${Tooltip}
          x=${tip.x}
          y=${tip.y}
          head="${cut(tip.link.source.label, 60)} → ${cut(tip.link.target.label, 60)}"
          facts=${factsOf(tip.link)}
        />`
    }
  </div>`;
}

function factsOf({ tasks, price, saturated }) {
  return [["Pods", count(tasks)], ["Price", points(price)], ...(saturated ? [["Cut", "no room left"]] : [])];
}

export function FlowLegend({ flow }) {
  return html`<div class="flow-foot">
    ${
      flow.priceMost > 0
        ? html`<${ScaleLegend} label="Price of a place, points" low="0" high=${points(flow.priceMost)} />`
        : html`<span>No prices are known of this round</span>`
    }
    <span class="scale">
      <svg class="cut-sample flow-picture" aria-hidden="true">
        <rect class="cut-area cut-edge" x="1" y="1" width="20" height="8" />
      </svg>
      The cut: nothing more fits through
    </span>
    <span>Width: pods</span>
  </div>`;
}
