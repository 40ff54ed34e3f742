// Trees of groups: a table each, in which groups follow the group that they are in.

import { Bar } from "../charts/bars.js";
import { count, many } from "../data/text.js";
import { html } from "../vendor/preact.js";
import { Status } from "./group_status.js";
import { Empty, Head, Name } from "./parts.js";

function Domain({ domain, bound }) {
  const { label, required, values, total } = domain;
  return html`<div class=${required && total > 1 ? "warn-text" : ""}>
    <span class="muted small"><${Name} text=${label} most=${48} />${required ? "" : " (preferred)"}:</span> ${
      bound === 0
        ? html`<span class="muted">not placed</span>`
        : values.map(
            (value, index) =>
              html`${index > 0 && ", "}${
                value ? html`<${Name} text=${value} most=${32} />` : html`<span class="muted">none</span>`
              }`,
          )
    } ${total > values.length && html`<span class="muted">and ${count(total - values.length)} more</span>`}
  </div>`;
}

function Row({ group }) {
  const { name, parent, level, members, total, least, whole, bound, pending, nodes, domains } = group;
  return html`<tr>
    <td>
      <div class="in-${Math.min(level, 4)}">
        <${Name} text=${name} most=${48} />
        ${parent && html`<span class="unseen"> in ${parent.slice(0, 80)}</span>`}
      </div>
    </td>
    <td>
      ${domains.map((each) => html`<${Domain} key="${each.label} ${each.required}" domain=${each} bound=${bound} />`)}
    </td>
    <td class="stretch"><${Bar} part=${members / (total || 1)} tone=${whole ? "good" : "warn"} /></td>
    <td class="number nowrap">
      ${count(members)} of ${many(total, group.of.slice(0, -1))}
      ${least !== total && html`<span class="muted small"> at least ${count(least)}</span>`}
    </td>
    <td class="number">${count(bound)}</td>
    <td class="number ${pending ? "warn-text" : "muted"}">${count(pending)}</td>
    <td class="number">${count(nodes)}</td>
  </tr>`;
}

function Tree({ tree }) {
  const { name, kind, status, message, groups, total } = tree;
  return html`<section class="tree nested">
    <h2>
      <${Name} text=${name} /> <${Status} status=${status} /> <span class="muted small plain">
        ${kind} <${Name} text=${message} most=${160} />
    </span>
    </h2>
    ${
      groups.length > 0 &&
      html`<div class="scroll" tabindex="0" role="region" aria-label="Groups in ${name.slice(0, 80)}">
      <table class="bare">
        <${Head}
          columns=${[
            "Group",
            "Domain",
            ["Members", "unseen"],
            ["Members", "number"],
            ["Pods bound", "number"],
            ["Pending", "number"],
            ["Nodes", "number"],
          ]}
        />
        <tbody>${groups.map((group) => html`<${Row} key=${group.name} group=${group} />`)}</tbody>
      </table>
    </div>`
    }
    ${groups.length < total && html`<p class="muted small">${count(total - groups.length)} more groups are not shown.</p>`}
  </section>`;
}

export function Nested({ trees }) {
  if (!trees.length)
    return html`<${Empty} title="No groups in groups">
      Trees of groups, such as CompositePodGroups, LeaderWorkerSets and PodGangs, are shown here.
    <//>`;
  return html`<div class="stack padded">
    ${trees.map((tree) => html`<${Tree} key="${tree.kind} ${tree.name}" tree=${tree} />`)}
  </div>`;
}
