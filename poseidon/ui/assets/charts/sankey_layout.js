// Where the nodes and ribbons of a flow go: classes, then the machines that they went to above what keeps the others waiting, then
// what became of both.

import { sankey } from "../vendor/sankey.js";

export const LAYERS = ["classes", "machines", "constraints", "outcome"];
const COLUMN = { classes: 0, machines: 1, constraints: 1, outcome: 2 };
export const COLUMNS = 3;
const BLOCK = 12;
const GAP = 15; // between nodes: a line of text
const TOP = 30;
const LEFT = 196; // room for the names of classes
const RIGHT = 112; // and of outcomes

const isOthers = (node) => node.id === "c-others" || node.id === "g-others";
const rank = (node) =>
  node.id === "waiting" || node.layerName === "constraints" ? 2 : isOthers(node) ? 1 : 0;

function order(a, b) {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  return a.layerName === "machines" ? a.place - b.place : b.tasks - a.tasks || a.place - b.place;
}

/** Nodes and links for the layout. */
function network(flow) {
  const nodes = new Map();
  flow.nodes.forEach((node, place) => {
    if (node.tasks > 0)
      nodes.set(node.id, { ...node, place, layer: COLUMN[node.layer], layerName: node.layer });
  });
  const links = flow.links
    .filter(({ source, target, tasks }) => tasks > 0 && nodes.get(source)?.layer < nodes.get(target)?.layer)
    .map((link) => ({ ...link, key: JSON.stringify([link.source, link.target]), value: link.tasks }));
  return { nodes: [...nodes.values()], links };
}

/** {nodes, links, width, height, columns: x of each layer}; null when there is no flow. */
export function layout(flow, width) {
  const { nodes, links } = network(flow);
  if (!links.length) return null;
  const crowd = Math.max(...[0, 1, 2].map((layer) => nodes.filter((node) => node.layer === layer).length));
  const height = TOP + Math.max(240, crowd * (GAP + 6) + 200);
  const place = sankey()
    .nodeId((node) => node.id)
    .nodeAlign((node) => node.layer)
    .nodeSort(order)
    .nodeWidth(BLOCK)
    .nodePadding(GAP)
    .iterations(12)
    .extent([
      [LEFT, TOP],
      [width - RIGHT, height - 12],
    ]);
  const done = place({ nodes, links });
  const columns = [0, 1, 2].map((layer) => LEFT + ((width - LEFT - RIGHT - BLOCK) * layer) / (COLUMNS - 1));
  for (const node of done.nodes) {
    node.x0 = columns[node.layer];
    node.x1 = node.x0 + BLOCK;
  }
  return { ...done, width, height, columns, block: BLOCK };
}

/** A link as wide as its flow but never finer than one pixel: `area`, its outline, and `edges`, its two sides alone. */
export function ribbon(link) {
  const [x0, x1] = [link.source.x1, link.target.x0];
  const middle = (x0 + x1) / 2;
  const half = Math.max(link.width, 1) / 2;
  const [top0, top1, low0, low1] = [link.y0 - half, link.y1 - half, link.y0 + half, link.y1 + half];
  const above = `${x0} ${top0}C${middle} ${top0} ${middle} ${top1} ${x1} ${top1}`;
  const below = `${x1} ${low1}C${middle} ${low1} ${middle} ${low0} ${x0} ${low0}`;
  return { area: `M${above}L${below}Z`, edges: `M${above}M${below}` };
}

/** Keys of all links on ways through a node, or of one link. */
export function ways(drawn, id) {
  const lit = new Set();
  const follow = (node, side, other) => {
    for (const link of node[side]) {
      if (lit.has(link.key)) continue;
      lit.add(link.key);
      follow(link[other], side, other);
    }
  };
  const node = drawn.nodes.find((each) => each.id === id);
  if (!node) return new Set([id]);
  follow(node, "sourceLinks", "target");
  follow(node, "targetLinks", "source");
  return lit;
}

/** The node that an arrow key leads to from another. */
export function neighbour(drawn, id, key) {
  const shown = drawn.nodes;
  const here = shown.find((node) => node.id === id) ?? shown[0];
  const middle = (node) => (node.y0 + node.y1) / 2;
  const column = (layer) => shown.filter((node) => node.layer === layer).sort((a, b) => a.y0 - b.y0);
  if (key === "ArrowUp" || key === "ArrowDown") {
    const same = column(here.layer);
    return same[same.indexOf(here) + (key === "ArrowDown" ? 1 : -1)] ?? here;
  }
  if (key === "Home" || key === "End") {
    const same = column(here.layer);
    return same[key === "Home" ? 0 : same.length - 1];
  }
  const step = key === "ArrowRight" ? 1 : -1;
  for (let layer = here.layer + step; layer >= 0 && layer < COLUMNS; layer += step) {
    const next = column(layer);
    if (next.length)
      return next.reduce((best, node) =>
        Math.abs(middle(node) - middle(here)) < Math.abs(middle(best) - middle(here)) ? node : best,
      );
  }
  return here;
}
