// Paints the cells of the heat map on a canvas, all of them at once; ten thousand take a few milliseconds.

import { FLAGS } from "../data/node_facts.js";
import { tone } from "../data/theme.js";
import { colourOf } from "./colour.js";
import { fitting, isolated } from "./measure.js";

const MOST_SIGN = 15; // in large cells signs stand in a corner
const SMALL = 8; // cells below this size have no room for signs within

/** One sign of a flag in the cell at x, y. */
export function paintSign(pen, sign, x, y, size, ink) {
  const end = size - 1;
  pen.strokeStyle = ink;
  pen.fillStyle = ink;
  pen.lineWidth = size < SMALL ? 1 : 1.5;
  pen.beginPath();
  switch (sign) {
    case "cross":
      pen.moveTo(x + 1.5, y + 1.5);
      pen.lineTo(x + end - 1.5, y + end - 1.5);
      pen.moveTo(x + end - 1.5, y + 1.5);
      pen.lineTo(x + 1.5, y + end - 1.5);
      pen.stroke();
      break;
    case "slash":
      pen.moveTo(x + end - 1.5, y + 1.5);
      pen.lineTo(x + 1.5, y + end - 1.5);
      pen.stroke();
      break;
    case "corner":
      pen.moveTo(x + end, y);
      pen.lineTo(x + end, y + size / 2);
      pen.lineTo(x + end - size / 2, y);
      pen.fill();
      break;
    case "ring":
      pen.lineWidth = size < SMALL ? 1 : 2;
      pen.strokeRect(x + pen.lineWidth / 2, y + pen.lineWidth / 2, end - pen.lineWidth, end - pen.lineWidth);
      break;
    case "dot":
      pen.arc(x + end / 2, y + end / 2, Math.max(1, size / 6), 0, 7);
      pen.fill();
      break;
    default:
      pen.fillRect(x + end / 4, y + end - 1.5, end / 2, 1.5);
  }
}

/**
 * `parts`: 0 to 1 or null by node; `flags`: bits; `dim(i)`: whether a node is not what is looked for.
 */
export function paintHeat(canvas, drawn, { parts, flags, names, dim }, theme) {
  const scale = devicePixelRatio || 1;
  const { width } = canvas.parentElement.getBoundingClientRect();
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(drawn.height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${drawn.height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const [ink, inverse, muted, unknown] = [tone("text"), tone("surface"), tone("muted"), tone("line")];
  const size = drawn.cell;
  const gap = size > 6 ? 1 : 0.5;

  pen.font = '500 12px Inter, system-ui, "Segoe UI", "Liberation Sans", sans-serif';
  pen.fillStyle = muted;
  pen.textBaseline = "alphabetic";
  drawn.boxes.forEach((box, g) => {
    const number = box.width > 110 ? `  ${drawn.members[g].length}` : "";
    pen.fillText(
      isolated(fitting(names[g] || "all nodes", box.width - (number ? 44 : 2), 12, 500)) + number,
      box.x,
      box.y + 14,
    );
  });

  // By colour, as changing it is what costs.
  const byColour = new Map();
  const faint = [];
  for (let i = 0; i < parts.length; i += 1) {
    if (drawn.cells[2 * i] < 0) continue;
    if (dim?.(i)) {
      faint.push(i);
      continue;
    }
    const colour = colourOf(parts[i], theme) ?? unknown;
    const same = byColour.get(colour);
    if (same) same.push(i);
    else byColour.set(colour, [i]);
  }
  const fill = (nodes) => {
    for (const i of nodes) pen.fillRect(drawn.cells[2 * i], drawn.cells[2 * i + 1], size - gap, size - gap);
  };
  for (const [colour, nodes] of byColour) {
    pen.fillStyle = colour;
    fill(nodes);
  }
  pen.globalAlpha = 0.5;
  pen.fillStyle = unknown;
  fill(faint);
  pen.globalAlpha = 1;

  for (let i = 0; i < flags.length; i += 1) {
    if (!flags[i] || drawn.cells[2 * i] < 0 || dim?.(i)) continue;
    for (const [bit, , sign] of FLAGS) {
      if (!(flags[i] & bit) || (size < SMALL && (sign === "dot" || sign === "foot"))) continue;
      const side = sign === "ring" ? size - gap + 1 : Math.min(size - gap + 1, MOST_SIGN);
      const x = drawn.cells[2 * i] + size - gap + 1 - side;
      paintSign(
        pen,
        sign,
        x,
        drawn.cells[2 * i + 1],
        side,
        parts[i] > 0.5 && sign !== "ring" ? inverse : ink,
      );
      if (size < SMALL) break;
    }
  }
}
