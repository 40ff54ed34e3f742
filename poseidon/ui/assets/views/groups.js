// Groups: gangs, trees with ranks, applications over zones, and who had to make way.

import { Bar } from "../charts/bars.js";
import { pathOf } from "../data/api.js";
import { useData, useNow } from "../data/hooks.js";
import { own } from "../data/own.js";
import { adjust, podLink } from "../data/route.js";
import { age, count, many, points, time } from "../data/text.js";
import { html } from "../vendor/preact.js";
import { Status } from "./group_status.js";
import { Nested } from "./nested_groups.js";
import { Badge, Card, Choices, Empty, Failure, Head, Instead, Name, NodeLink } from "./parts.js";
import { TreeBoxes } from "./tree_boxes.js";

function Gangs({ gangs }) {
  if (!gangs.length)
    return html`<${Empty} title="No gangs">Pods that start together, or not at all, are shown here.<//>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Gangs as a table">
    <table>
      <${Head}
        columns=${["Gang", "Kind", "Bound of wanted", ["Bound", "number"], ["Pending", "number"], "Status"]}
      />
      <tbody>
        ${gangs.map(
          (gang) => html`<tr key="${gang.kind} ${gang.name}">
            <td><${Name} text=${gang.name} /></td>
            <td class="muted">${gang.kind}</td>
            <td class="stretch">
              <${Bar}
                part=${gang.bound / (gang.wanted || gang.pods || 1)}
                tone=${gang.pending === 0 ? "good" : "warn"}
              />
            </td>
            <td class="number">${count(gang.bound)} of ${count(gang.wanted || gang.pods)}</td>
            <td class="number">${count(gang.pending)}</td>
            <td>
              <${Status} status=${gang.status} /> <span class="muted small">
                <${Name} text=${gang.message} most=${120} />
            </span>
            </td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function Trees({ trees }) {
  if (!trees.length)
    return html`<${Empty} title="No trees">Gangs that are distributed over blocks, racks and nodes are shown here.<//>`;
  return html`<div class="stack padded">
    ${trees.map(
      (tree) => html`<section key=${tree.group} class="tree">
        <h2>
          <${Name} text=${tree.group} /> <${Status} status=${tree.status} /> <span class="muted small plain">
            <${Name} text=${tree.message} most=${160} />
        </span>
        </h2>
        ${
          Object.keys(tree.placement).length
            ? html`<${TreeBoxes} tree=${tree} />`
            : html`<p class="muted small">Not placed. Levels: ${tree.levels.join(", ") || "none"}.</p>`
        }
      </section>`,
    )}
  </div>`;
}

function Application({ application }) {
  const { workloads, edges, zones } = application;
  const most = Math.max(1, ...workloads.flatMap((each) => Object.values(each.zones)));
  const dearest = Math.max(1e-9, ...edges.map((edge) => edge.cost));
  return html`<section class="application">
    <h2>
      <${Name} text=${application.appGroup} /> <span class="muted small plain">cost ${points(application.cost)}
    </span>
    </h2>
    <div class="application-tables">
      <div class="scroll" tabindex="0" role="region" aria-label="Workloads by zone">
        <table class="bare">
          <thead>
            <tr>
              <th scope="col">Workload</th>
              ${zones.map((zone) => html`<th scope="col" class="number"><${Name} text=${zone} most=${20} /></th>`)}
              <th scope="col" class="number">Pending</th>
            </tr>
          </thead>
          <tbody>
            ${workloads.map(
              (each) => html`<tr key=${each.workload}>
                <td><span class="muted small">${each.order}</span> <${Name} text=${each.workload} most=${40} /></td>
                ${zones.map(
                  (zone) =>
                    html`
                    <td class="number zone-cell">
                      ${count(own(each.zones, zone) ?? 0)}
                      <${Bar} part=${(own(each.zones, zone) ?? 0) / most} />
                  </td>`,
                )}
                <td class="number ${each.pending ? "warn-text" : "muted"}">${count(each.pending)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <div class="scroll" tabindex="0" role="region" aria-label="Pairs of workloads and the cost of their traffic">
        <table class="bare">
          <${Head} columns=${["Edge", "Cost", ["Cost", "number unseen"], ["At most", "number"], "Kept"]} />
          <tbody>
            ${edges.map(
              (edge) => html`<tr key="${edge.from} ${edge.to}">
                <td>
                  <${Name}
                    text=${edge.from}
                    most=${24}
                  /> <span
                    class="muted">→</span> <${Name}
                    text=${edge.to}
                    most=${24}
                  />
                </td>
                <td class="stretch"><${Bar} part=${edge.cost / dearest} tone=${edge.broken ? "bad" : ""} /></td>
                <td class="number">${points(edge.cost)}</td>
                <td class="number">${points(edge.max)}</td>
                <td>
                  ${
                    edge.broken
                      ? html`<${Badge} tone="bad">${many(edge.broken, "pair")} over<//>`
                      : html`<${Badge} tone="good">kept<//>`
                  }
                </td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </div>
  </section>`;
}

function Applications({ applications }) {
  if (!applications.length)
    return html`<${Empty} title="No applications">Workloads with network costs between them are shown here.<//>`;
  return html`
    <div class="stack padded">
      ${applications.map((each) => html`<${Application} key=${each.appGroup} application=${each} />`)}
  </div>`;
}

const KINDS = { preempted: "bad", moved: "accent", evicted: "warn" };

function Evictions({ evictions, now }) {
  if (!evictions.length)
    return html`<${Empty} title="No evictions">Preemptions and moves are shown here as they happen.<//>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Preemptions and moves as a table">
    <table>
      <${Head} columns=${["When", "What", "Pod", "Node", "For", "State"]} />
      <tbody>
        ${evictions.map(
          (each) => html`<tr key="${each.at} ${each.pod}">
            <td class="nowrap" title=${time(each.at)}>${age(each.at, now)} ago</td>
            <td><${Badge} tone=${own(KINDS, each.kind) ?? ""}>${each.kind}<//></td>
            <td><a href=${podLink(each.pod)}><${Name} text=${each.pod} /></a></td>
            <td>${each.node && html`<${NodeLink} name=${each.node} most=${32} />`}</td>
            <td>
              ${
                each.for
                  ? html`<a href=${podLink(each.for)}><${Name} text=${each.for} /></a>`
                  : html`<span class="muted">–</span>`
              }
            </td>
            <td>
              ${
                each.state === "leaving"
                  ? html`<${Badge} tone="warn">leaving<//>`
                  : html`<span class="muted">${each.state}</span>`
              }
            </td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

export function View({ query }) {
  const state = useData(pathOf(["groups"]), "groups");
  const now = useNow();
  const { data, error } = state;
  if (!data) return html`<h1>Groups</h1><${Instead} state=${state} tall=${420} />`;
  const lists = [
    ["gangs", "Gangs"],
    ["nested", "Groups in groups"],
    ["trees", "Trees"],
    ["applications", "Applications"],
    ["evictions", "Preemptions and moves"],
  ];
  const shown = lists.some(([key]) => key === query.show)
    ? query.show
    : (lists.find(([key]) => data[key].length)?.[0] ?? "gangs");
  return html`<div class="title">
      <h1>Groups</h1>
      <div class="settings">
        <${Choices}
          label="Kind of group"
          options=${lists.map(([key, title]) => [key, `${title} ${data[key].length}`])}
          value=${shown}
          choose=${(show) => adjust({ show }, { replace: true })}
        />
      </div>
    </div>
    <${Failure} error=${error} />
    <${Card} wide>
      ${shown === "gangs" && html`<${Gangs} gangs=${data.gangs} />`}
      ${shown === "nested" && html`<${Nested} trees=${data.nested} />`}
      ${shown === "trees" && html`<${Trees} trees=${data.trees} />`}
      ${shown === "applications" && html`<${Applications} applications=${data.applications} />`}
      ${shown === "evictions" && html`<${Evictions} evictions=${data.evictions} now=${now} />`}
    <//>`;
}
