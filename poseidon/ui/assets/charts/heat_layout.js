// Where the cells of the heat map go: a box for each group, in rows of boxes, with the largest cells that fit.

const HEAD = 20; // a line of text above the cells of a box
const GAP = 10; // between boxes
const LARGEST = 36;
const LEAST = 4;

/** Rows of boxes for one size of cells and one number of boxes in a row. */
function attempt(sizes, width, perRow, cell) {
  const boxWidth = Math.floor((width - GAP * (perRow - 1)) / perRow);
  const columns = Math.floor(boxWidth / cell);
  if (columns < 1 || (perRow > 1 && boxWidth < 56)) return null;
  const boxes = [];
  let y = 0;
  for (let start = 0; start < sizes.length; start += perRow) {
    const row = sizes.slice(start, start + perRow);
    for (let i = 0; i < row.length; i += 1) {
      boxes.push({ x: i * (boxWidth + GAP), y, columns, width: boxWidth });
    }
    y += HEAD + Math.ceil(Math.max(...row) / columns) * cell + GAP;
  }
  return { boxes, cell, height: y, head: HEAD };
}

/**
 * `group`: the index of each node's group; `names`: of groups. {cells: Int32Array of x, y by node, boxes, cell, height, at(x, y)}.
 */
export function heatLayout(group, names, width, wanted) {
  const members = names.map(() => []);
  group.forEach((of, i) => {
    members[of]?.push(i);
  });
  const sizes = members.map((each) => each.length);
  let best = null;
  for (let cell = LARGEST; cell >= LEAST && !best; cell -= 1) {
    for (let perRow = 1; perRow <= Math.max(1, sizes.length); perRow += 1) {
      const found = attempt(sizes, width, perRow, cell);
      if (!found) break;
      if (found.height <= wanted && (!best || found.height < best.height)) best = found;
    }
  }
  if (!best) {
    for (let perRow = 1; perRow <= Math.max(1, sizes.length); perRow += 1) {
      const found = attempt(sizes, width, perRow, 6);
      if (!found) break;
      if (!best || found.height < best.height) best = found;
    }
  }
  if (!best) return null;
  const { cell, head } = best;
  const cells = new Int32Array(2 * group.length).fill(-1);
  best.boxes.forEach((box, g) => {
    members[g].forEach((node, k) => {
      cells[2 * node] = box.x + (k % box.columns) * cell;
      cells[2 * node + 1] = box.y + head + Math.floor(k / box.columns) * cell;
    });
  });
  return { ...best, cells, members, at: (x, y) => nodeAt(best, members, x, y) };
}

/** The node at a point, or -1. */
function nodeAt({ boxes, cell, head }, members, x, y) {
  for (let g = 0; g < boxes.length; g += 1) {
    const box = boxes[g];
    if (x < box.x || x >= box.x + box.width || y < box.y + head) continue;
    const [column, row] = [Math.floor((x - box.x) / cell), Math.floor((y - box.y - head) / cell)];
    const k = row * box.columns + column;
    if (column < box.columns && k < members[g].length) return members[g][k];
  }
  return -1;
}

/** The node that a key leads to from another; -1 where it leads nowhere. */
export function stepFrom(drawn, group, node, key) {
  const g = group[node];
  const own = drawn.members[g];
  const k = own.indexOf(node);
  const { columns } = drawn.boxes[g];
  const beside = (step) => {
    for (let other = g + step; other >= 0 && other < drawn.members.length; other += step) {
      if (drawn.members[other].length) return drawn.members[other][0];
    }
    return -1;
  };
  switch (key) {
    case "ArrowLeft":
      return own[k - 1] ?? -1;
    case "ArrowRight":
      return own[k + 1] ?? -1;
    case "ArrowUp":
      return own[k - columns] ?? beside(-1);
    case "ArrowDown":
      return own[k + columns] ?? beside(1);
    case "Home":
      return own[0];
    case "End":
      return own[own.length - 1];
    case "PageUp":
      return beside(-1);
    case "PageDown":
      return beside(1);
    default:
      return -1;
  }
}
