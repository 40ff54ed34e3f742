// Nodes as a table, sorted by any column, a page at a time.

import { flagsOf, METRICS } from "../data/node_facts.js";
import { perMille } from "../data/text.js";
import { html, useMemo, useState } from "../vendor/preact.js";
import { Name, NodeLink, Pages } from "./parts.js";

const PAGE = 100;
const NAME = "name";

function columnsOf(metric, values, data) {
  const { nodes } = data;
  const columns = ["cpu", "cpuUsed", "memory", "memoryUsed", "hot", "pods"].map((key) => ({
    key,
    title: METRICS[key].title,
    text: perMille,
    values: nodes[key],
  }));
  if (metric === "threshold")
    columns.unshift({ key: metric, title: METRICS[metric].title, text: METRICS[metric].text, values });
  return columns;
}

function Heading({ title, number, on, down, sort }) {
  return html`
    <th
      scope="col"
      class=${number ? "number" : ""}
      aria-sort=${on ? (down ? "descending" : "ascending") : undefined}>
    <button class="sort" onClick=${sort}>${title} <span aria-hidden="true">${on ? (down ? "↓" : "↑") : ""}</span>
    </button>
  </th>`;
}

export function NodesTable({ data, metric, values, dim, chosen }) {
  const [by, setBy] = useState({ key: metric, down: true });
  const [offset, setOffset] = useState(0);
  const columns = columnsOf(metric, values, data);
  const { nodes, groups } = data;
  const order = useMemo(() => {
    const kept = nodes.name.map((_, i) => i).filter((i) => !dim?.(i));
    const column = columns.find((each) => each.key === by.key);
    const sign = by.down ? -1 : 1;
    return column
      ? kept.sort((a, b) => sign * ((column.values[a] ?? -1) - (column.values[b] ?? -1)) || a - b)
      : kept.sort(
          (a, b) => sign * (nodes.name[a] < nodes.name[b] ? -1 : nodes.name[a] > nodes.name[b] ? 1 : 0),
        );
  }, [data, by, dim, values]);
  const start = offset < order.length ? offset : 0;
  const sort = (key) => () => {
    setOffset(0);
    setBy((old) => ({ key, down: old.key === key ? !old.down : key !== NAME }));
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Nodes as a table">
      <table>
        <thead>
          <tr>
            <${Heading} title="Node" on=${by.key === NAME} down=${by.down} sort=${sort(NAME)} />
            <th scope="col">Group</th>
            ${columns.map(
              (each) =>
                html`
                <${Heading}
                  key=${each.key} number
                  title=${each.title}
                  on=${by.key === each.key}
                  down=${by.down}
                  sort=${sort(each.key)}
                />`,
            )}
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          ${order.slice(start, start + PAGE).map(
            (i) => html`<tr key=${nodes.name[i]} class=${nodes.name[i] === chosen ? "chosen" : ""}>
              <td><${NodeLink} name=${nodes.name[i]} most=${40} /></td>
              <td><${Name} text=${groups[nodes.group[i]] ?? ""} most=${30} /></td>
              ${columns.map((each) => html`<td class="number">${each.text(each.values[i])}</td>`)}
              <td>${flagsOf(nodes.flags[i]).join(", ") || html`<span class="muted">ready</span>`}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <${Pages} offset=${start} limit=${PAGE} total=${order.length} turn=${setOffset} noun="nodes" />`;
}
