// The priced flow of a round: picture or table, and a panel for what is chosen in it.

import { FlowLegend, Sankey } from "../charts/sankey.js";
import { LAYERS } from "../charts/sankey_layout.js";
import { pathOf } from "../data/api.js";
import { useData } from "../data/hooks.js";
import { adjust, link } from "../data/route.js";
import { count, gap, many, points, time } from "../data/text.js";
import { html, useCallback, useRef, useState } from "../vendor/preact.js";
import { FlowPanel } from "./flow_panels.js";
import { Badge, Card, Choices, Empty, Failure, Head, Instead, Name, Select } from "./parts.js";

function RoundPicker({ flow, pinned }) {
  const rounds = [...flow.rounds].sort((a, b) => a - b);
  const here = rounds.indexOf(flow.round);
  const to = (round) => adjust({ round, at: "" }, { replace: true });
  const options = [
    ["", "newest"],
    ...rounds
      .slice()
      .reverse()
      .map((n) => [String(n), `#${n}`]),
  ];
  return html`<span class="field">
    <button
      class="button quiet icon"
      aria-label="Previous round"
      disabled=${here <= 0}
      onClick=${() => to(rounds[here - 1])}>‹</button>
    <${Select} label="Round" options=${options} value=${pinned ? String(flow.round) : ""} choose=${to} />
    <button
      class="button quiet icon"
      aria-label="Next round"
      disabled=${here < 0 || here >= rounds.length - 1}
      onClick=${() => to(rounds[here + 1])}>›</button>
  </span>`;
}

function groupingName(key) {
  return key === "" ? "one group of all machines" : key;
}

function Title({ flow, query }) {
  return html`<div class="title">
    <h1>Flow</h1>
    <span class="sub">
      Round ${flow.round}, ${time(flow.ended)}: ${count(flow.placed)} of ${many(flow.tasks, "pod")} placed
    </span>
    ${
      flow.certified
        ? html`
        <${Badge}
          tone="good"
          title="Cost ${points(flow.cost)}: certified as an optimum of the full network; at most ${gap(flow.gap)} of the cost is due to rules between pods">flow certified<//>`
        : html`<${Badge} tone="warn">not certified: ≤ ${gap(flow.gap)} could be saved<//>`
    }
    <div class="settings">
      <${Choices} label="Show as" options=${[
        ["", "Picture"],
        ["table", "Table"],
      ]} value=${query.as ?? ""} choose=${(as) => adjust({ as }, { replace: true })} />
      <${RoundPicker} flow=${flow} pinned=${Boolean(query.round)} />
      <${Select}
        label="Machines by"
        options=${flow.groupings.map((key) => [key, groupingName(key)])}
        value=${flow.groupBy}
        choose=${(key) => adjust({ groupBy: key === "" ? "none" : key, at: "" }, { replace: true })}
      />
    </div>
  </div>`;
}

/** All links, which is all that the picture shows. */
function LinksTable({ flow, choose }) {
  const nodes = new Map(flow.nodes.map((node) => [node.id, node]));
  const layer = (id) => LAYERS.indexOf(nodes.get(id)?.layer);
  const links = [...flow.links].sort((a, b) => layer(a.source) - layer(b.source) || b.tasks - a.tasks);
  const end = (id) => {
    const node = nodes.get(id);
    return node
      ? html`<button class="link-button" onClick=${() => choose(node)}><${Name} text=${node.label} /></button>`
      : id;
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label="The flow as a table">
    <table>
      <${Head} columns=${["From", "To", ["Pods", "number"], ["Price", "number"], "Cut"]} />
      <tbody>
        ${links.map(
          (link) => html`<tr key="${link.source} ${link.target}">
            <td>${end(link.source)}</td>
            <td>${end(link.target)}</td>
            <td class="number">${count(link.tasks)}</td>
            <td class="number">${points(link.price)}</td>
            <td>${link.saturated && html`<${Badge} tone="warn">no room left<//>`}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function NoFlow() {
  return html`<${Empty} title="No flow yet">A round runs when pods wait; its flow is then shown here.<//>`;
}

function NotKept({ round }) {
  return html`<${Empty} title="The flow of round ${round} is not kept">
    Only flows of recent rounds that somebody looked at are kept. <a href=${link("flow")}>The newest round</a>
  <//>`;
}

export function View({ query }) {
  const groupBy = query.groupBy === "none" ? "" : query.groupBy;
  const state = useData(pathOf(["flow"], { round: query.round, groupBy }), "flow");
  // What is pointed at stays still: the next round is drawn when the pointer has left.
  const [held, setHeld] = useState(false);
  const shown = useRef(null);
  const newest = state.data ?? state.previous;
  if (newest && (!held || shown.current?.groupBy !== newest.groupBy || query.round)) shown.current = newest;
  const flow = shown.current;
  const hold = useCallback((on) => setHeld(on), []);
  const choose = useCallback((node) => adjust({ at: node.id, round: shown.current.round }), []);
  if (state.error?.status === 404) {
    return html`<h1>Flow</h1><${Card}>${query.round ? html`<${NotKept} round=${query.round} />` : html`<${NoFlow} />`}<//>`;
  }
  if (!flow) return html`<h1>Flow</h1><${Instead} state=${state} tall=${520} />`;
  const at = flow.nodes.find((node) => node.id === query.at);
  const empty = flow.links.length === 0;
  const left = [
    flow.others.classes && many(flow.others.classes, "smaller class", "smaller classes"),
    flow.others.groups && many(flow.others.groups, "more group"),
  ].filter(Boolean);
  return html`<${Title} flow=${flow} query=${query} />
    <${Failure} error=${state.error} />
    <div class="split ${at ? "open" : ""}">
      <${Card} wide className="flow-card">
        ${empty && html`<${NoFlow} />`}
        ${!empty && query.as === "table" && html`<${LinksTable} flow=${flow} choose=${choose} />`}
        ${
          !empty &&
          query.as !== "table" &&
          html`
            <${Sankey} flow=${flow} at=${at?.id} choose=${choose} hold=${hold} />
            <${FlowLegend} flow=${flow} />`
        }
        ${left.length > 0 && html`<p class="flow-foot">Summed up: ${left.join(" and ")}.</p>`}
      <//>
      ${
        at &&
        html`
          <${FlowPanel}
            key=${at.id}
            node=${at}
            flow=${flow}
            choose=${choose}
            close=${() => adjust({ at: "" }, { replace: true })}
          />`
      }
    </div>`;
}
