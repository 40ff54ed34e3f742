// What the columns of the cluster mean: metrics to colour nodes by, and flags.

import { perMille } from "./text.js";

/** key: {title, column (null: worked out), text}; all are per mille. */
export const METRICS = {
  cpu: { title: "CPU requested", column: "cpu", text: perMille },
  memory: { title: "Memory requested", column: "memory", text: perMille },
  cpuUsed: { title: "CPU measured", column: "cpuUsed", text: perMille },
  memoryUsed: { title: "Memory measured", column: "memoryUsed", text: perMille },
  hot: { title: "Scarcest other resource", column: "hot", text: perMille },
  pods: { title: "Pod slots taken", column: "pods", text: perMille },
  threshold: {
    title: "Nearest to a threshold",
    column: null,
    text: (value) => (value === null ? "–" : `${Math.round(value / 10)} % of it`),
  },
};

/** The values of a metric by node; for the thresholds, use in per mille of the threshold that it is nearest to. */
export function valuesOf(key, nodes, thresholds) {
  const { column } = METRICS[key];
  if (column) return nodes[column];
  return nodes.name.map((_, i) => {
    let most = null;
    for (const [resource, measured] of [
      ["cpu", nodes.cpuUsed],
      ["memory", nodes.memoryUsed],
    ]) {
      if (thresholds[resource] && measured[i] !== null)
        most = Math.max(most ?? 0, Math.round((100 * measured[i]) / thresholds[resource]));
    }
    return most;
  });
}

/** Ends of the scale of colours, per mille: small loads can be told apart on a short one. */
export const SCALES = [50, 100, 200, 500, 1000];

/** The end of the scale: what is `wanted`, else the least that takes in all values. */
export function scaleOf(values, wanted) {
  if (SCALES.includes(wanted)) return wanted;
  const most = values.reduce((found, value) => Math.max(found, value ?? 0), 0);
  return SCALES.find((end) => end >= most) ?? 1000;
}

/** Parts of the scale of colours; null where nothing is known. */
export function partsOf(values, scale) {
  return values.map((value) => (value === null ? null : value / scale));
}

/** Bit, word, and how it is drawn. @type {[bit: number, word: string, sign: string][]} */
export const FLAGS = [
  [2, "not ready", "cross"],
  [1, "cordoned", "slash"],
  [32, "overcommitted", "corner"],
  [8, "over a threshold", "ring"],
  [16, "reserved", "dot"],
  [4, "tainted", "foot"],
];

export function flagsOf(bits) {
  return FLAGS.filter(([bit]) => bits & bit).map(([, word]) => word);
}
