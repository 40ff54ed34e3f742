// Where the nodes and ribbons of a flow go. Links that skip a column are led through it beside the nodes there, so that no ribbon
// runs behind a node that it has nothing to do with.

import { sankey } from "../vendor/sankey.js";

export const LAYERS = ["classes", "constraints", "machines", "outcome"];
const BLOCK = 12;
const GAP = 15; // between nodes: a line of text
const TOP = 30;
const LEFT = 196; // room for the names of classes
const RIGHT = 112; // and of outcomes

const isOthers = (node) => node.id === "c-others" || node.id === "g-others";
const rank = (node) => (node.through ? 3 : node.id === "waiting" ? 2 : isOthers(node) ? 1 : 0);

function order(a, b) {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  return a.layer === 2 ? a.place - b.place : b.tasks - a.tasks || a.place - b.place;
}

/** Nodes and links for the layout, with a node in between for each column that a link skips. */
function network(flow) {
  const nodes = new Map();
  flow.nodes.forEach((node, place) => {
    if (node.tasks > 0)
      nodes.set(node.id, { ...node, place, layer: LAYERS.indexOf(node.layer), layerName: node.layer });
  });
  const links = [];
  const through = (link, layer) => {
    const id = `through:${layer}:${link.target}`;
    const found = nodes.get(id) ?? {
      id,
      layer,
      through: true,
      tasks: 0,
      place: nodes.size,
      price: link.price,
      saturated: link.saturated,
    };
    found.tasks += link.tasks;
    nodes.set(id, found);
    return id;
  };
  for (const link of flow.links) {
    const [source, target] = [nodes.get(link.source), nodes.get(link.target)];
    if (!source || !target || link.tasks <= 0 || target.layer <= source.layer) continue;
    const stops = [link.source];
    for (let layer = source.layer + 1; layer < target.layer; layer += 1) stops.push(through(link, layer));
    stops.push(link.target);
    for (let i = 1; i < stops.length; i += 1)
      links.push({ ...link, source: stops[i - 1], target: stops[i], of: link });
  }
  return { nodes: [...nodes.values()], links: joined(links) };
}

/** Links that share both ends, as those behind a node in between, become one. */
function joined(links) {
  const found = new Map();
  for (const link of links) {
    const key = JSON.stringify([link.source, link.target]);
    const before = found.get(key);
    if (before) {
      before.value += link.tasks;
      before.tasks += link.tasks;
      before.price = before.price === null ? link.price : Math.max(before.price, link.price ?? 0);
      before.saturated ||= link.saturated;
    } else found.set(key, { ...link, key, value: link.tasks });
  }
  return [...found.values()];
}

/** {nodes, links, width, height, columns: x of each layer}; null when there is no flow. */
export function layout(flow, width) {
  const { nodes, links } = network(flow);
  if (!links.length) return null;
  const crowd = Math.max(...LAYERS.map((_, layer) => nodes.filter((node) => node.layer === layer).length));
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
  const columns = LAYERS.map(
    (_, layer) => LEFT + ((width - LEFT - RIGHT - BLOCK) * layer) / (LAYERS.length - 1),
  );
  for (const node of done.nodes) {
    node.x0 = columns[node.layer];
    node.x1 = node.x0 + BLOCK;
  }
  return { ...done, width, height, columns, block: BLOCK };
}

/**
 * A link as wide as its flow but never finer than one pixel: `area`, its outline, and `edges`, its two sides alone. What leads into
 * a node in between goes on to that node's other side, so that it looks like one band.
 */
export function ribbon(link) {
  const [x0, x1] = [link.source.x1, link.target.x0];
  const end = link.target.through ? link.target.x1 : x1;
  const middle = (x0 + x1) / 2;
  const half = Math.max(link.width, 1) / 2;
  const [top0, top1, low0, low1] = [link.y0 - half, link.y1 - half, link.y0 + half, link.y1 + half];
  const above = `${x0} ${top0}C${middle} ${top0} ${middle} ${top1} ${x1} ${top1}H${end}`;
  const below = `${end} ${low1}H${x1}C${middle} ${low1} ${middle} ${low0} ${x0} ${low0}`;
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
  const shown = drawn.nodes.filter((node) => !node.through);
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
  for (let layer = here.layer + step; layer >= 0 && layer < LAYERS.length; layer += step) {
    const next = column(layer);
    if (next.length)
      return next.reduce((best, node) =>
        Math.abs(middle(node) - middle(here)) < Math.abs(middle(best) - middle(here)) ? node : best,
      );
  }
  return here;
}
