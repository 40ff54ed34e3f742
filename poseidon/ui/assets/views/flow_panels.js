// What is behind a node of the flow: a class down to its arcs, a constraint, a group of machines, an outcome.

import { Bar, Stack, StackLegend } from "../charts/bars.js";
import { colourOf } from "../charts/colour.js";
import { pathOf } from "../data/api.js";
import { useData } from "../data/hooks.js";
import { link } from "../data/route.js";
import { useStore } from "../data/store.js";
import { count, many, points } from "../data/text.js";
import { theme } from "../data/theme.js";
import { html, useState } from "../vendor/preact.js";
import { Badge, Empty, Head, Instead, Name, NodeLink, Pages, Panel, Section } from "./parts.js";

const PAGE = 25;

export function FlowPanel({ node, flow, choose, close }) {
  const kinds = {
    classes: ["Class", ClassBody],
    constraints: ["Why pods wait", ConstraintBody],
    machines: ["Machines", MachinesBody],
    outcome: ["Outcome", OutcomeBody],
  };
  const [kind, Body] = kinds[node.layer];
  return html`<${Panel} kind=${kind} title=${node.label} close=${close}>
    <${Body} node=${node} flow=${flow} choose=${choose} />
  <//>`;
}

function useDetail(layer, node, flow, offset) {
  const query = {
    round: flow.round,
    groupBy: layer === "machines" ? flow.groupBy : undefined,
    offset,
    limit: PAGE,
  };
  return useData(node.id.endsWith("-others") ? null : pathOf(["flow", layer, node.id], query), "");
}

function Refusals({ refusals }) {
  const most = Math.max(1, ...refusals.map((each) => each.machines));
  if (!refusals.length) return html`<p class="muted small">No machine.</p>`;
  return html`<ul class="reasons">
    ${refusals.map(
      ({ reason, machines }) => html`<li key=${reason}>
        <span class="head"><${Name} text=${reason} most=${110} /><span class="number">${count(machines)}</span>
        </span>
        <${Bar} part=${machines / most} />
      </li>`,
    )}
  </ul>`;
}

function Summed() {
  return html`<${Empty} tight title="Summed up">These are too many to be shown one by one.<//>`;
}

function ClassBody({ node, flow }) {
  const [offset, setOffset] = useState(0);
  const state = useDetail("classes", node, flow, offset);
  const data = state.data ?? state.previous;
  if (node.id === "c-others") return html`<${Summed} />`;
  if (!data) return html`<${Instead} state=${state} tall=${300} />`;
  const models = [...new Set(data.arcs.flatMap((arc) => Object.keys(arc.models)))];
  const most = Math.max(
    1,
    ...data.arcs.map((arc) => Object.values(arc.models).reduce((sum, each) => sum + Math.max(0, each), 0)),
  );
  return html`<dl class="facts">
      <dt>Placed</dt>
      <dd>${count(data.placed)} of ${many(data.tasks, "pod")}</dd>
      <dt>Price</dt>
      <dd>
        ${
          data.price === null
            ? html`<span class="muted">not known</span>`
            : `${points(data.price)} points, which one pod less would save`
        }
      </dd>
      <dt>Owner</dt>
      <dd><${Name} text=${[data.namespace, data.job].filter(Boolean).join("/")} /></dd>
      <dt>Priority</dt>
      <dd>${count(data.priority)}</dd>
      <dt>Requests</dt>
      <dd>${
        Object.entries(data.requests)
          .map(([resource, amount]) => `${resource} ${amount}`)
          .join(", ") || "nothing"
      }</dd>
      <dt>Machines it may use</dt>
      <dd>${many(data.open, "machine")}</dd>
      ${
        data.placed < data.tasks &&
        html`
          <dt>Waiting</dt>
          <dd>
            <a href=${link("pods", { phase: "pending", q: data.label })}>${many(data.tasks - data.placed, "pod")}
          </a>
        </dd>`
      }
    </dl>
    ${
      data.keptBack.length > 0 &&
      html`<${Section} title="Why the other pods wait" hint="machines, when the round had ended">
      <${Refusals} refusals=${data.keptBack} />
    <//>`
    }
    <${Section} title="Machines that refused it" hint="when the round began">
      <${Refusals} refusals=${data.refusals} />
    <//>
    <${Section} title="Arcs" hint="${many(data.total, "machine")}, dearest first; cost by model">
      ${
        data.arcs.length === 0
          ? html`<p class="muted small">This class may use no machine.</p>`
          : html`<${StackLegend} names=${models} /><${Arcs} arcs=${data.arcs} models=${models} most=${most} />`
      }
      <${Pages} offset=${offset} limit=${PAGE} total=${data.total} turn=${setOffset} noun="arcs" />
    <//>`;
}

function Arcs({ arcs, models, most }) {
  return html`<table>
    <${Head} columns=${["Machine", ["Pods", "number"], "Cost", ["Cost", "number unseen"], ["Price", "number"]]} />
    <tbody>
      ${arcs.map(
        (arc) => html`<tr key=${arc.machine}>
          <td><${NodeLink} name=${arc.machine} most=${22} /></td>
          <td class="number">${count(arc.tasks)}</td>
          <td><${Stack} names=${models} values=${arc.models} most=${most} /></td>
          <td class="number">${points(arc.cost)}</td>
          <td class="number">${points(arc.machinePrice)}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}

function Classes({ classes, choose, flow, columns }) {
  const nodes = new Map(flow.nodes.map((node) => [node.id, node]));
  return html`<table>
    <thead>
      <tr><th scope="col">Class</th>${columns.map(([title]) => html`<th scope="col" class="number">${title}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${classes.map(
        (each) => html`<tr key=${each.id}>
          <td>
            ${
              nodes.has(each.id)
                ? html`
                <button class="link-button" onClick=${() => choose(nodes.get(each.id))}>
                  <${Name} text=${each.label} most=${30} />
              </button>`
                : html`<${Name} text=${each.label} most=${30} />`
            }
          </td>
          ${columns.map(([, text]) => html`<td class="number">${text(each)}</td>`)}
        </tr>`,
      )}
    </tbody>
  </table>`;
}

function ConstraintBody({ node, flow, choose }) {
  const state = useDetail("constraints", node, flow, 0);
  const { data } = state;
  if (!data) return html`<${Instead} state=${state} tall=${300} />`;
  const columns = [
    ["Waiting", (each) => count(each.tasks - each.placed)],
    ["Placed", (each) => count(each.placed)],
    ["Price", (each) => points(each.price)],
  ];
  return html`<p class="muted">${node.sub}</p>
    <${Section} title="Machines that refuse them" hint="when the round had ended"><${Refusals} refusals=${data.refusals} /><//>
    <${Section} title="Classes that wait because of it" hint=${many(data.classes.length, "class", "classes")}>
      <${Classes} classes=${data.classes} choose=${choose} flow=${flow} columns=${columns} />
    <//>`;
}

function MachinesBody({ node, flow, choose }) {
  const [offset, setOffset] = useState(0);
  const colours = useStore(theme);
  const state = useDetail("machines", node, flow, offset);
  const data = state.data ?? state.previous;
  if (node.id === "g-others") return html`<${Summed} />`;
  if (!data) return html`<${Instead} state=${state} tall=${300} />`;
  const most = Math.max(1e-9, data.priceMost);
  return html`<dl class="facts">
      <dt>Machines</dt>
      <dd>${count(data.machines)}, ${count(data.saturated)} of them saturated</dd>
      <dt>Room for</dt>
      <dd>${many(data.room, "more pod")}</dd>
      <dt>Highest price</dt>
      <dd>${points(data.priceMost)} points</dd>
    </dl>
    <${Section} title="Machines" hint="dearest first">
      <table>
        <${Head}
          columns=${["Machine", ["Pods", "number"], ["Room", "number"], "Price", ["Price", "number unseen"]]}
        />
        <tbody>
          ${data.items.map(
            (item) => html`<tr key=${item.machine}>
              <td><${NodeLink} name=${item.machine} most=${22} /></td>
              <td class="number">${count(item.tasks)}</td>
              <td class="number">${item.saturated ? html`<${Badge} tone="warn">full<//>` : count(item.room)}</td>
              <td>
                <${Bar}
                  part=${item.price / most}
                  colour=${colourOf(item.price / (flow.priceMost || most), colours)}
                />
              </td>
              <td class="number">${points(item.price)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
      <${Pages} offset=${offset} limit=${PAGE} total=${data.total} turn=${setOffset} noun="machines" />
    <//>
    <${Section} title="Classes placed there">
      <${Classes} classes=${data.classes} choose=${choose} flow=${flow} columns=${[
        ["Pods", (each) => count(each.tasks)],
        ["Cost", (each) => points(each.cost)],
      ]} /><//>`;
}

function OutcomeBody({ node, flow, choose }) {
  const nodes = new Map(flow.nodes.map((each) => [each.id, each]));
  const into = flow.links
    .filter((each) => each.target === node.id && nodes.has(each.source))
    .sort((a, b) => b.tasks - a.tasks);
  const most = Math.max(1, ...into.map((each) => each.tasks));
  return html`
    <p>
      ${many(node.tasks, "pod")} ${
        node.id === "waiting"
          ? html`got no node in this round. <a href=${link("pending")}>Pending pods</a>`
          : "got a node in this round."
      }
  </p>
    <${Section} title=${node.id === "waiting" ? "Why they wait" : "Placed on"}>
      <ul class="reasons">
        ${into.map(
          (each) => html`<li key=${each.source}>
            <span class="head">
              <button class="link-button name" onClick=${() => choose(nodes.get(each.source))}>
                <${Name} text=${nodes.get(each.source).label} most=${90} />
              </button>
              <span class="number">${count(each.tasks)}</span>
            </span>
            <${Bar} part=${each.tasks / most} tone=${node.id === "waiting" ? "warn" : ""} />
          </li>`,
        )}
      </ul>
    <//>`;
}
