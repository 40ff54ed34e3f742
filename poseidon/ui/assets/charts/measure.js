// How wide texts are, for pictures that have to cut them.

import { cut } from "../data/text.js";

const FAMILY =
  'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", sans-serif';
const MOST_KEPT = 4000;
let pen = null;
const widths = new Map();

export function widthOf(text, size = 12, weight = 500) {
  const key = `${size} ${weight} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    pen ??= document.createElement("canvas").getContext("2d");
    pen.font = `${weight} ${size}px ${FAMILY}`;
    width = pen.measureText(text).width;
    if (widths.size >= MOST_KEPT) widths.clear();
    widths.set(key, width);
  }
  return width;
}

/** As much of a text as fits: all; else its beginning and its end, of a path those of what stands behind its last slash. */
export function fitting(whole, room, size, weight) {
  if (whole.length < 500 && widthOf(whole, size, weight) <= room) return whole;
  const text =
    whole.length < 500 && /^[^\s/]+\/\S+$/.test(whole) ? `…${whole.slice(whole.lastIndexOf("/"))}` : whole;
  let shown = cut(text, Math.max(4, Math.floor(room / 3.5)));
  while (shown.length > 4 && widthOf(shown, size, weight) > room) {
    const share = room / widthOf(shown, size, weight);
    shown = cut(text, Math.max(4, Math.min(shown.length - 1, Math.floor(shown.length * share))));
  }
  return shown;
}

/** A text whose direction of writing does not touch what stands beside it. */
export function isolated(text) {
  return `\u2068${text}\u2069`;
}
