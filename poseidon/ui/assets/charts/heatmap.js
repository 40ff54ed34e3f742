// The heat map of nodes: hovering tells, arrow keys move, a click or Enter opens.

import { announce } from "../data/announce.js";
import { useSize } from "../data/hooks.js";
import { flagsOf, METRICS } from "../data/node_facts.js";
import { useStore } from "../data/store.js";
import { count, cut, perMille } from "../data/text.js";
import { theme } from "../data/theme.js";
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import { heatLayout, stepFrom } from "./heat_layout.js";
import { paintHeat, paintSign } from "./heat_paint.js";
import { Tooltip } from "./tooltip.js";

const MOVES = new Set([
  "ArrowUp",
  "ArrowDown",
  "ArrowLeft",
  "ArrowRight",
  "Home",
  "End",
  "PageUp",
  "PageDown",
]);

function Frame({ drawn, node, className = "" }) {
  const frame = useRef(null);
  useEffect(() => {
    const { style } = frame.current;
    style.width = style.height = `${drawn.cell + 3}px`;
    style.transform = `translate(${drawn.cells[2 * node] - 2}px, ${drawn.cells[2 * node + 1] - 2}px)`;
  }, [drawn, node]);
  return html`<div class="cursor ${className}" ref=${frame}></div>`;
}

/** `values`, `parts`: of the metric, by node; `dim(i)`: whether it is not looked for; `chosen`: the name of the open node. */
export function Heatmap({ data, metric, values, parts, dim, chosen, choose }) {
  const place = useRef(null);
  const canvas = useRef(null);
  const { width } = useSize(place);
  const colours = useStore(theme);
  const [pointed, setPointed] = useState(null);
  const [focused, setFocused] = useState(-1);
  const { nodes, groups } = data;
  const wanted = Math.max(420, innerHeight - 230);
  const drawn = useMemo(() => (width ? heatLayout(nodes.group, groups, width, wanted) : null), [data, width]);
  useEffect(() => {
    if (!drawn) return undefined;
    const frame = requestAnimationFrame(
      () =>
        canvas.current &&
        paintHeat(canvas.current, drawn, { parts, flags: nodes.flags, names: groups, dim }, colours),
    );
    return () => cancelAnimationFrame(frame);
  }, [drawn, parts, dim, colours]);

  const open = useMemo(() => nodes.name.indexOf(chosen), [data, chosen]);
  const facts = (i) => [
    [METRICS[metric].title, METRICS[metric].text(values[i])],
    ["CPU", `${perMille(nodes.cpu[i])} requested, ${perMille(nodes.cpuUsed[i])} used`],
    ["Memory", `${perMille(nodes.memory[i])} requested, ${perMille(nodes.memoryUsed[i])} used`],
    ["Pod slots", `${perMille(nodes.pods[i])} taken`],
  ];
  const move = (event) => {
    const box = canvas.current.getBoundingClientRect();
    const i = drawn?.at(event.clientX - box.left, event.clientY - box.top) ?? -1;
    setPointed(i < 0 ? null : { i, x: event.clientX, y: event.clientY });
  };
  const keys = (event) => {
    if (MOVES.has(event.key)) {
      event.preventDefault();
      const from = focused < 0 ? Math.max(open, -1) : focused;
      const next = from < 0 ? 0 : stepFrom(drawn, nodes.group, from, event.key);
      if (next < 0) return;
      setFocused(next);
      const flags = flagsOf(nodes.flags[next]);
      announce(
        `${cut(nodes.name[next], 80)}, ${METRICS[metric].title} ${METRICS[metric].text(values[next])}${
          flags.length ? `, ${flags.join(", ")}` : ""
        }`,
      );
    } else if (event.key === "Enter" && focused >= 0) choose(nodes.name[focused]);
  };
  const shown = pointed && pointed.i < nodes.name.length ? pointed : null;
  return html`<div
    class="heat"
    ref=${place}
    tabindex="0"
    role="application"
    aria-label="Heat map of ${count(nodes.name.length)} nodes by ${METRICS[metric].title}. Arrow keys move, Page Up and Page Down change the group, Enter opens a node."
    onMouseMove=${move}
    onMouseLeave=${() => setPointed(null)}
    onClick=${() => {
      if (!shown) return;
      setFocused(shown.i);
      choose(nodes.name[shown.i]);
    }}
    onKeyDown=${keys}
    onBlur=${() => setFocused(-1)}
  >
    <canvas ref=${canvas}></canvas>
    ${drawn && open >= 0 && html`<${Frame} drawn=${drawn} node=${open} className="chosen" />`}
    ${drawn && focused >= 0 && focused < nodes.name.length && html`<${Frame} drawn=${drawn} node=${focused} />`}
    ${
      drawn &&
      shown &&
      html`<${Frame} drawn=${drawn} node=${shown.i} />
      <${Tooltip} x=${shown.x} y=${shown.y} head=${cut(nodes.name[shown.i], 120)} facts=${facts(shown.i)}>
        <div class="muted">
          ${[groups[nodes.group[shown.i]], ...flagsOf(nodes.flags[shown.i])]
            .map((each) => cut(each, 60))
            .join(", ")}
        </div>
      <//>`
    }
  </div>`;
}

/** A cell with one sign, for the legend. */
export function Sign({ sign }) {
  const canvas = useRef(null);
  const colours = useStore(theme);
  useEffect(() => {
    const pen = canvas.current.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    pen.clearRect(0, 0, 28, 28);
    pen.save();
    pen.scale(2, 2);
    pen.fillStyle = style.getPropertyValue("--line-strong");
    pen.fillRect(0, 0, 13, 13);
    paintSign(pen, sign, 0, 0, 14, style.getPropertyValue("--text"));
    pen.restore();
  }, [sign, colours]);
  return html`<canvas class="sign" ref=${canvas} width="28" height="28" aria-hidden="true"></canvas>`;
}
