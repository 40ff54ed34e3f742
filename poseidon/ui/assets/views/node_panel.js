// One node: resources, NUMA zones, pods, what happened to it.

import { Bar, ResourceBar, Spark } from "../charts/bars.js";
import { pathOf } from "../data/api.js";
import { useData, useNow } from "../data/hooks.js";
import { own } from "../data/own.js";
import { podLink } from "../data/route.js";
import { age, count, cut, many, NONE, time } from "../data/text.js";
import { html, useState } from "../vendor/preact.js";
import { Badge, Head, Instead, Name, Pages, Panel, Section } from "./parts.js";

const PAGE = 50;

function Resources({ resources, thresholds }) {
  return html`<ul class="resources">
    ${resources.map(({ resource, allocatable, requested, used, text }) => {
      const threshold = own(thresholds, resource);
      return html`<li key=${resource}>
        <span class="head">
          <span class="name">${resource}</span>
          <span class="number small">
            <b>${text.requested || "0"}
          </b> <span class="muted">of ${text.allocatable || NONE}${text.used ? `, ${text.used} used` : ""}
          </span>
          </span>
        </span>
        <${ResourceBar} requested=${requested} used=${used} allocatable=${allocatable} threshold=${threshold} />
      </li>`;
    })}
  </ul>`;
}

function Zones({ zones }) {
  const resources = [...new Set(zones.flatMap((zone) => zone.resources.map((each) => each.resource)))];
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Zone</th>
        ${resources.map((name) => html`<th scope="col"><span class="name">${name}</span></th>`)}
      </tr>
    </thead>
    <tbody>
      ${zones.map(
        (zone) => html`<tr key=${zone.zone}>
          <td><${Name} text=${zone.zone} most=${16} /></td>
          ${resources.map((name) => {
            const each = zone.resources.find((one) => one.resource === name);
            return html`<td>
              ${
                each &&
                html`
                  <span class="small">${count(each.available)} of ${count(each.allocatable)} free</span>
                  <${Bar} part=${1 - each.available / (each.allocatable || 1)} />`
              }
            </td>`;
          })}
        </tr>`,
      )}
    </tbody>
  </table>`;
}

function Devices({ devices }) {
  return html`<table>
    <${Head} columns=${["Device", "Claim", "Pods"]} />
    <tbody>
      ${devices.map(({ driver, pool, device, claims }) => {
        const name = html`<td title=${cut(`${driver}/${pool}/${device}`, 400)}>
          <${Name} text=${device} most=${32} /><br /><span class="muted small"><${Name} text=${driver} most=${32} /></span>
        </td>`;
        if (!claims.length)
          return html`<tr key="${driver}/${pool}/${device}">${name}<td class="muted">free</td><td></td></tr>`;
        return claims.map(
          ({ claim, share, pods }, index) => html`<tr key="${driver}/${pool}/${device} ${claim}">
            ${index === 0 ? name : html`<td class="muted small"><${Name} text=${device} most=${32} /></td>`}
            <td>
              <${Name} text=${claim} most=${44} /> ${share && html`<${Badge} title=${cut(share, 200)}>share<//>`}
            </td>
            <td>
              ${pods.map((pod) => html`<div key=${pod}><a href=${podLink(pod)}><${Name} text=${pod} most=${44} /></a></div>`)}
            </td>
          </tr>`,
        );
      })}
    </tbody>
  </table>`;
}

function Pods({ pods, now }) {
  return html`<table>
    <${Head} columns=${["Pod", "Requests", ["Since", "number"]]} />
    <tbody>
      ${pods.map(
        (pod) => html`<tr key=${pod.name}>
          <td><a href=${podLink(pod.name)}><${Name} text=${pod.name} most=${44} /></a></td>
          <td class="small muted">${pod.requests}</td>
          <td class="number small">${age(pod.since, now)}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}

const TONES = { bound: "good", evicted: "bad", cordoned: "warn", "not ready": "bad" };

function History({ history }) {
  return html`<ol class="history">
    ${history.map(
      (each, i) => html`<li key="${each.at} ${i}">
        <time class="muted small">${time(each.at)}</time>
        <${Badge} tone=${own(TONES, each.what) ?? ""}>${each.what}<//>
        ${
          each.pod &&
          html`<a class="name small" href=${podLink(each.pod)}><${Name} text=${each.pod} most=${50} /></a>`
        }
      </li>`,
    )}
  </ol>`;
}

export function NodePanel({ name, close }) {
  const [offset, setOffset] = useState(0);
  const state = useData(pathOf(["nodes", name], { offset, limit: PAGE }), "cluster");
  const now = useNow();
  const node = state.data ?? state.previous;
  return html`<${Panel} kind="Node" title=${name} close=${close}>
    ${
      node
        ? html`<${Body} node=${node} offset=${offset} setOffset=${setOffset} now=${now} />`
        : html`<${Instead} state=${state} tall=${320} />`
    }
  <//>`;
}

/** A condition may come as "Ready" or as "Ready=True". */
function toneOf(condition) {
  const [name, holds = "True"] = condition.split("=");
  if (name === "Ready") return holds === "True" ? "good" : "bad";
  return holds === "False" ? "" : "warn";
}

function Body({ node, offset, setOffset, now }) {
  const { requestedHistory: past } = node;
  const labels = Object.entries(node.labels);
  return html`<div class="badges">
      ${node.conditions.map((each) => html`<${Badge} key=${each} tone=${toneOf(each)}>${each}<//>`)}
      ${node.taints.map((each) => html`<${Badge} key=${each} tone="warn" title="Taint">${each}<//>`)}
    </div>
    <${Section} title="Resources" hint="bar: requested; line: used; tick: threshold">
      <${Resources} resources=${node.resources} thresholds=${node.thresholds} />
    <//>
    ${
      past.at.length > 1 &&
      html`<${Section} title="Requested over time">
      <${Spark} label="CPU and memory requested over time" at=${past.at} lines=${[
        { name: "cpu", colour: "var(--series-1)", values: past.cpu },
        { name: "memory", colour: "var(--series-3)", values: past.memory },
      ]} />
      <p class="legend">
        <span><i class="swatch series-1"></i>cpu</span>
        <span><i class="swatch series-3"></i>memory</span>
        <span>${time(past.at[0])} to ${time(past.at[past.at.length - 1])}
      </span>
      </p>
    <//>`
    }
    ${
      node.zones.length > 0 &&
      html`<${Section} title="NUMA zones"><div class="scroll"><${Zones} zones=${node.zones} /></div><//>`
    }
    ${
      node.devices.total > 0 &&
      html`<${Section} title="Devices" hint="${count(node.devices.free)} of ${count(node.devices.total)} free">
      <div class="scroll"><${Devices} devices=${node.devices.items} /></div>
      ${
        node.devices.items.length < node.devices.total &&
        html`<p class="muted small">${count(node.devices.total - node.devices.items.length)} more are not shown.</p>`
      }
    <//>`
    }
    ${
      node.nominated.length > 0 &&
      html`<${Section} title="Reserved for" hint="pods for which other pods are evicted">
      ${node.nominated.map((pod) => html`<div key=${pod}><a class="name" href=${podLink(pod)}>${pod}</a></div>`)}
    <//>`
    }
    <${Section} title="Pods" hint=${many(node.totalPods, "pod")}>
      <${Pods} pods=${node.pods} now=${now} />
      <${Pages} offset=${offset} limit=${PAGE} total=${node.totalPods} turn=${setOffset} noun="pods" />
    <//>
    ${node.history.length > 0 && html`<${Section} title="What happened"><${History} history=${node.history} /><//>`}
    <details class="as-table">
      <summary>${many(labels.length, "label")}</summary>
      <dl class="facts labels">
        ${labels.map(([key, value]) => html`<dt class="name mono">${key}</dt><dd class="name mono">${value}</dd>`)}
      </dl>
    </details>`;
}
