// All nodes: a heat map or a table by zone, rack or another level, what to colour by, and a panel for one node.

import { Heatmap, Sign } from "../charts/heatmap.js";
import { ScaleLegend } from "../charts/price_scale.js";
import { pathOf } from "../data/api.js";
import { useData } from "../data/hooks.js";
import { FLAGS, METRICS, partsOf, SCALES, scaleOf, valuesOf } from "../data/node_facts.js";
import { own } from "../data/own.js";
import { adjust } from "../data/route.js";
import { count, many, NONE, perMille } from "../data/text.js";
import { html, useCallback, useMemo, useState } from "../vendor/preact.js";
import { NodePanel } from "./node_panel.js";
import { NodesTable } from "./nodes_table.js";
import { Card, Choices, Empty, Failure, Head, Instead, Name, Select } from "./parts.js";

function Settings({ data, query, metric, sought, seek }) {
  return html`<div class="settings">
    <label class="field">
      <span class="unseen">Find a node</span>
      <input
        type="search"
        placeholder="Find a node"
        value=${sought}
        onInput=${(event) => seek(event.target.value)}
      />
    </label>
    <${Select}
      label="Colour"
      options=${Object.entries(METRICS).map(([key, { title }]) => [key, title])}
      value=${metric}
      choose=${(key) => adjust({ metric: key }, { replace: true })}
    />
    <${Select}
      label="Scale"
      options=${[["", "0 to the maximum"], ...SCALES.map((end) => [String(end), `0 to ${end / 10} %`])]}
      value=${query.scale ?? ""}
      choose=${(scale) => adjust({ scale }, { replace: true })}
    />
    ${
      data.levels.length > 0 &&
      html`
        <${Select}
          label="Group by"
          options=${data.levels.map((key) => [key, key || "one group of all nodes"])}
          value=${data.level}
          choose=${(level) => adjust({ level: level || "none" }, { replace: true })}
        />`
    }
    <${Choices} label="Show as" options=${[
      ["", "Map"],
      ["table", "Table"],
    ]} value=${query.as ?? ""} choose=${(as) => adjust({ as }, { replace: true })} />
  </div>`;
}

/** The scale, and the flags as switches: what has none of the chosen ones is dimmed. */
function Legend({ metric, scale, flags, only, setOnly }) {
  const numbers = useMemo(
    () => FLAGS.map(([bit]) => flags.reduce((sum, bits) => sum + (bits & bit ? 1 : 0), 0)),
    [flags],
  );
  return html`<div class="flow-foot">
    <${ScaleLegend} label=${METRICS[metric].title} low="0 %" high="${scale / 10} %" />
    <span class="flags" role="group" aria-label="Show only nodes with this flag">
      ${FLAGS.map(
        ([bit, word, sign], i) =>
          numbers[i] > 0 &&
          html`
            <button
              key=${bit}
              class="flag"
              aria-pressed=${String(Boolean(only & bit))}
              onClick=${() => setOnly(only ^ bit)}>
            <${Sign} sign=${sign} />${word} <b>${count(numbers[i])}</b>
          </button>`,
      )}
    </span>
  </div>`;
}

const MOST_GROUPS = 100;

/** Stands where a node's panel opens, so that the map keeps its place: what groups come to. */
function Groups({ data }) {
  const { groups, nodes } = data;
  const inside = useMemo(() => {
    const found = groups.map(() => []);
    nodes.group.forEach((of, i) => {
      found[of]?.push(i);
    });
    return found;
  }, [data]);
  const rows = groups.slice(0, MOST_GROUPS).map((name, g) => {
    const members = inside[g];
    const mean = (column) => {
      const known = members.map((i) => column[i]).filter((value) => value !== null);
      return known.length ? perMille(known.reduce((sum, value) => sum + value, 0) / known.length) : NONE;
    };
    return [name || "all nodes", count(members.length), mean(nodes.cpu), mean(nodes.memory)];
  });
  return html`<aside class="card panel idle" aria-label="Groups of nodes">
    <header><h2>Groups</h2><span class="muted small">requested, mean over nodes</span></header>
    <div class="body">
      <table class="bare">
        <${Head} columns=${["Group", ["Nodes", "number"], ["CPU", "number"], ["Memory", "number"]]} />
        <tbody>
          ${rows.map(
            ([name, ...figures]) => html`<tr key=${name}>
              <td><${Name} text=${name} most=${32} /></td>
              ${figures.map((each) => html`<td class="number">${each}</td>`)}
            </tr>`,
          )}
        </tbody>
      </table>
      ${groups.length > MOST_GROUPS && html`<p class="muted small">and ${count(groups.length - MOST_GROUPS)} more</p>`}
      <p class="muted small">Select a node to see its resources, pods and history here.</p>
    </div>
  </aside>`;
}

export function View({ query }) {
  const state = useData(pathOf(["cluster"], { level: query.level === "none" ? "" : query.level }), "cluster");
  const [sought, seek] = useState("");
  const [only, setOnly] = useState(0);
  const data = state.data ?? state.previous;
  const metric = own(METRICS, query.metric ?? "") ? query.metric : "cpu";
  const values = useMemo(
    () => (data ? valuesOf(metric, data.nodes, data.thresholds ?? {}) : []),
    [data, metric],
  );
  const scale = scaleOf(values, Number(query.scale));
  const parts = useMemo(() => partsOf(values, scale), [values, scale]);
  const dim = useMemo(() => {
    const text = sought.trim().toLowerCase();
    if (!data || (!text && !only)) return null;
    const { name, flags } = data.nodes;
    return (i) => (text && !name[i].toLowerCase().includes(text)) || (only && !(flags[i] & only));
  }, [data, sought, only]);
  const choose = useCallback((node) => adjust({ node }), []);
  if (!data) return html`<h1>Cluster</h1><${Instead} state=${state} tall=${520} />`;
  const { nodes } = data;
  const found = dim ? nodes.name.reduce((sum, _, i) => sum + (dim(i) ? 0 : 1), 0) : nodes.name.length;
  const empty = nodes.name.length === 0;
  return html`<div class="title">
      <h1>Cluster</h1>
      <span class="sub">${dim ? `${count(found)} of ` : ""}${many(nodes.name.length, "node")}</span>
      ${!empty && html`<${Settings} data=${data} query=${query} metric=${metric} sought=${sought} seek=${seek} />`}
    </div>
    <${Failure} error=${state.error} />
    <div class="split open">
      <${Card} wide className="heat-card">
        ${empty && html`<${Empty} title="No nodes">Nodes are shown as soon as the API server lists some.<//>`}
        ${
          !empty &&
          query.as === "table" &&
          html`<${NodesTable} data=${data} metric=${metric} values=${values} dim=${dim} chosen=${query.node} />`
        }
        ${
          !empty &&
          query.as !== "table" &&
          html`<div class="heat-place">
          <${Heatmap}
            data=${data}
            metric=${metric}
            values=${values}
            parts=${parts}
            dim=${dim}
            chosen=${query.node}
            choose=${choose}
          />
        </div>`
        }
        ${
          !empty &&
          html`
            <${Legend} metric=${metric} scale=${scale} flags=${nodes.flags} only=${only} setOnly=${setOnly} />`
        }
      <//>
      ${
        query.node
          ? html`
          <${NodePanel}
            key=${query.node}
            name=${query.node}
            close=${() => adjust({ node: "" }, { replace: true })}
          />`
          : html`<${Groups} data=${data} />`
      }
    </div>`;
}
