// Why a pod is where it is, or why it waits: verdicts by node, cost by model, who took the room, the price paid, the story.

import { Bar, Stack, StackLegend } from "../charts/bars.js";
import { pathOf } from "../data/api.js";
import { useData, useNow } from "../data/hooks.js";
import { own } from "../data/own.js";
import { link, podLink } from "../data/route.js";
import { age, count, cut, many, points, time } from "../data/text.js";
import { html } from "../vendor/preact.js";
import { Cures } from "./cures.js";
import { Badge, Card, Empty, Failure, Head, Instead, Name, NodeLink, Phase } from "./parts.js";

export function PodPage({ name, session }) {
  const cut = name.indexOf("/");
  const state = useData(pathOf(["pods", name.slice(0, cut), name.slice(cut + 1)]), "pending");
  const now = useNow();
  const { data, error } = state;
  const waits = data && (data.phase === "pending" || data.phase === "gated");
  return html`<div class="title">
      <h1><${Name} text=${name} most=${120} /></h1>
      ${data && html`<${Phase} phase=${data.phase} />`}
    </div>
    ${error && data && html`<${Failure} error=${error} />`}
    ${
      !data &&
      error?.status === 404 &&
      html`
        <${Card}>
          <${Empty}
            title="There is no such pod">It may be gone. <a
              href=${link("pods", { q: name.slice(0, cut) })}>Pods of this namespace</a>
        <//>
      <//>`
    }
    ${!data && error?.status !== 404 && html`<${Instead} state=${state} tall=${420} />`}
    ${
      data &&
      html`<div class="pod-page">
      <div class="stack">
        ${waits && html`<${Waiting} data=${data} cures=${session.capabilities.cures} />`}
        ${data.price && html`<${Price} data=${data} />`}
        <${Verdicts} data=${data} />
      </div>
      <div class="stack">
        <${Facts} data=${data} now=${now} queues=${session.capabilities.queues} />
        ${data.claims.length > 0 && html`<${Claims} claims=${data.claims} />`}
        ${data.room.length > 0 && html`<${Room} room=${data.room} />`}
        <${Story} story=${data.story} />
      </div>
    </div>`
    }`;
}

function Waiting({ data, cures }) {
  return html`<${Card} title=${data.phase === "gated" ? "Why it is gated" : "Why it waits"}>
    <p class="name">${data.reason || "The reason is not known yet."}</p>
    ${
      data.outlook.length > 0 &&
      html`
        <ul class="outlook">${data.outlook.map((each) => html`<li key=${each} class="name">${each}</li>`)}
      </ul>`
    }
    ${cures && html`<${Cures} pod=${data.pod} />`}
  <//>`;
}

function Price({ data }) {
  const { price } = data;
  const names = Object.keys(price.models);
  const most = Math.max(
    1e-9,
    names.reduce((sum, each) => sum + Math.max(0, price.models[each]), 0) + Math.max(0, price.machinePrice),
  );
  const all = [...names, "price of the place"];
  const values = { ...price.models, "price of the place": price.machinePrice };
  return html`
    <${Card}
      title="Cost of its placement"
      sub="points"
      end=${html`<a href=${link("flow", { round: price.round })}>Round ${price.round}</a>`}>
    <p class="price">
      <b>${points(price.total)}
    </b> for <${NodeLink}
      name=${price.node}
    />: cost ${points(price.cost)}, and ${points(price.machinePrice)} as the price of the place.</p>
    <div class="thick"><${Stack} names=${all} values=${values} most=${most} /></div>
    <${StackLegend} names=${all} values=${values} />
    ${
      price.dearer !== null &&
      html`<p class="muted small">The next best node would have cost ${points(price.dearer)} points more.</p>`
    }
  <//>`;
}

function Verdicts({ data }) {
  const { verdicts } = data;
  if (!verdicts) {
    const why = data.verdictsError ?? "The solver was not asked about this pod.";
    return html`<${Card} title="Verdict by node"><${Empty} tight title="Not known">${why}<//><//>`;
  }
  const sum = (node) =>
    verdicts.models.reduce((all, model) => all + Math.max(0, own(node.models, model)?.cost ?? 0), 0);
  const most = Math.max(1e-9, ...verdicts.nodes.map(sum));
  return html`
    <${Card} wide
      title="Verdict by node"
      sub="${many(verdicts.feasible, "node")} feasible, ${count(verdicts.refused)} not">
      ${
        verdicts.nodes.length > 0 &&
        html`<div class="padded"><${StackLegend} names=${verdicts.models} /></div>
        <div class="scroll short-rows" tabindex="0" role="region" aria-label="Nodes by cost">
          <table>
            <${Head}
              columns=${["Node", "Cost by model", ["Cost", "number"], ["More than the cheapest", "number"]]}
            />
            <tbody>
              ${verdicts.nodes.map((node) => {
                const values = Object.fromEntries(
                  verdicts.models.map((model) => [model, own(node.models, model)?.cost ?? 0]),
                );
                const raw = verdicts.models
                  .map(
                    (model) =>
                      `${model}: ${points(values[model])} points${
                        own(node.models, model) ? `, raw ${node.models[model].raw}` : ""
                      }`,
                  )
                  .join("\n");
                return html`<tr key=${node.node} class=${node.chosen ? "chosen" : ""} title=${raw}>
                  <td><${NodeLink} name=${node.node} /> ${node.chosen && html`<${Badge} tone="good">chosen<//>`}
                  </td>
                  <td class="stretch"><${Stack} names=${verdicts.models} values=${values} most=${most} /></td>
                  <td class="number">${points(node.cost)}</td>
                  <td class="number muted">${points(node.cost - verdicts.nodes[0].cost)}</td>
                </tr>`;
              })}
            </tbody>
          </table>
        </div>`
      }
      ${verdicts.nodes.length === 0 && html`<${Empty} tight title="No node is feasible">The reasons are listed below.<//>`}
    <//>
    ${verdicts.refusals.length > 0 && html`<${Refusals} refusals=${verdicts.refusals} />`}`;
}

function Refusals({ refusals }) {
  const most = Math.max(1, ...refusals.map((each) => each.nodes));
  return html`<${Card} title="Nodes that refuse it">
    <ul class="reasons">
      ${refusals.map(
        ({ reasons, nodes, examples }) => html`<li key=${reasons.join("\n")}>
          <span class="head"><${Name} text=${reasons.join("; ")} most=${200} /><b class="number">${count(nodes)}</b>
          </span>
          <${Bar} part=${nodes / most} />
          <span
            class="small muted examples">such as ${examples
              .slice(0, 3)
              .map((name, i) => html`${i > 0 && ", "}<${NodeLink} key=${name} name=${name} most=${32} />`)}
          </span>
        </li>`,
      )}
    </ul>
  <//>`;
}

function Lines({ lines }) {
  if (!lines.length) return html`<span class="muted">none</span>`;
  return lines.map((line) => html`<div key=${line} class="name">${cut(line, 300)}</div>`);
}

function Facts({ data, now, queues }) {
  return html`<${Card} title="Pod">
    <dl class="facts">
      <dt>Node</dt>
      <dd>${data.node ? html`<${NodeLink} name=${data.node} />` : html`<span class="muted">none</span>`}</dd>
      <dt>Age</dt>
      <dd title=${time(data.created)}>${age(data.created, now)}</dd>
      <dt>${data.phase.slice(0, 1).toUpperCase() + data.phase.slice(1)} for</dt>
      <dd>${age(data.since, now)}</dd>
      <dt>Priority</dt>
      <dd>${count(data.priority)}</dd>
      <dt>Class</dt>
      <dd>
        ${
          data.class
            ? html`<a href=${link("pods", { class: data.class })}><${Name} text=${data.class} /></a>`
            : html`<span class="muted">not known</span>`
        }
      </dd>
      ${
        data.requests &&
        html`<dt>Requests</dt>
        <dd><${Lines} lines=${Object.entries(data.requests).map(([name, amount]) => `${amount} ${name}`)} /></dd>
        <dt>Selectors</dt>
        <dd><${Lines} lines=${data.selectors} /></dd>
        <dt>Tolerations</dt>
        <dd><${Lines} lines=${data.tolerations} /></dd>`
      }
      ${
        queues &&
        data.class &&
        html`<dt>Queue</dt>
        <dd><a href=${link("queues", { workload: data.class })}>Show it in its queue</a></dd>`
      }
      ${data.group && html`<dt>Group</dt><dd><a href=${link("groups")}><${Name} text=${data.group} /></a></dd>`}
    </dl>
  <//>`;
}

function Claims({ claims }) {
  return html`<${Card} title="Claims of devices">
    <table class="bare">
      <${Head} columns=${["Claim", "Asks for", "Devices"]} />
      <tbody>
        ${claims.map(
          (each) => html`<tr key="${each.name} ${each.claim}">
            <td title=${cut(each.claim, 400)}><${Name} text=${each.name || "extended resources"} most=${32} /></td>
            <td class="small"><${Lines} lines=${each.asks} /></td>
            <td class="small">
              ${each.waits ? html`<span class="muted">${cut(each.waits, 300)}</span>` : html`<${Lines} lines=${each.devices} />`}
            </td>
          </tr>`,
        )}
      </tbody>
    </table>
  <//>`;
}

function Room({ room }) {
  return html`<${Card} title="Pods in the way">
    <table class="bare">
      <${Head} columns=${["Pod or class", "Node", ["Pods", "number"]]} />
      <tbody>
        ${room.map(
          (each) => html`<tr key="${each.pod ?? each.class} ${each.node}">
            <td>
              ${
                each.pod
                  ? html`<a href=${podLink(each.pod)}><${Name} text=${each.pod} /></a>`
                  : html`<${Name} text=${each.class} />`
              }
            </td>
            <td><${NodeLink} name=${each.node ?? ""} most=${26} /></td>
            <td class="number">${count(each.tasks)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  <//>`;
}

function Story({ story }) {
  return html`<${Card} title="Story">
    ${
      story.length === 0
        ? html`<p class="muted">No event of this pod has been seen yet.</p>`
        : html`<ol class="story">
          ${story.map(
            (each, i) =>
              html`
              <li key="${each.at} ${i}">
                <time class="muted small">${time(each.at)}
              </time>
                <span class="name">${cut(each.what, 1000)}
              </span>
            </li>`,
          )}
        </ol>`
    }
  <//>`;
}
