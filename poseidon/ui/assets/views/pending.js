// Pods that wait, grouped by reason or class; a group opens to its pods and to what would make one of them fit.

import { Bar } from "../charts/bars.js";
import { pathOf } from "../data/api.js";
import { useData, useNow } from "../data/hooks.js";
import { adjust, podLink } from "../data/route.js";
import { age, count, cut, many } from "../data/text.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Cures } from "./cures.js";
import { Card, Choices, Empty, Failure, Instead, Name, Pages } from "./parts.js";

const GROUPS = 50;
const PODS = 20;

function PodsOf({ group, by, cures }) {
  const [offset, setOffset] = useState(0);
  const [cured, setCured] = useState(null);
  const query = { phase: "pending", [by]: group.key, offset, limit: PODS };
  const state = useData(pathOf(["pods"], query), "pending");
  const now = useNow();
  const data = state.data ?? state.previous;
  if (!data) return html`<${Instead} state=${state} tall=${120} />`;
  if (!data.items.length) return html`<${Empty} tight title="None of these pods waits any more" />`;
  return html`<table class="bare">
      <thead>
        <tr>
          <th scope="col">Pod</th>
          <th scope="col">${by === "class" ? "Reason" : "Class"}
        </th>
          <th scope="col" class="number">Waiting time</th>
          ${cures && html`<th scope="col"><span class="unseen">Cures</span></th>`}
        </tr>
      </thead>
      <tbody>
        ${data.items.map(
          (pod) => html`<tr key=${pod.name}>
              <td><a href=${podLink(pod.name)}><${Name} text=${pod.name} most=${70} /></a></td>
              <td class="muted"><${Name} text=${by === "class" ? pod.reason : (pod.class ?? "")} most=${70} /></td>
              <td class="number">${age(pod.since, now)}</td>
              ${
                cures &&
                html`<td class="number">
                <button
                  class="link-button"
                  aria-expanded=${String(cured === pod.name)}
                  onClick=${() => setCured(cured === pod.name ? null : pod.name)}>Cures</button>
              </td>`
              }
            </tr>
            ${
              cured === pod.name &&
              html`<tr key="cures of ${pod.name}"><td colspan="4"><${Cures} pod=${pod.name} auto /></td></tr>`
            }`,
        )}
      </tbody>
    </table>
    <${Pages} offset=${offset} limit=${PODS} total=${data.total} turn=${setOffset} noun="pods" />`;
}

function Ages({ group }) {
  const now = useNow();
  return html`<span class="ages muted small">oldest ${age(group.oldestSince, now)}, median ${age(group.medianSince, now)}</span>`;
}

function Group({ group, by, most, open, toggle, cures }) {
  const head = useRef(null);
  useEffect(() => {
    if (open) head.current.scrollIntoView({ block: "nearest" });
  }, []);
  const other = by === "class" ? group.reason : many(group.kinds, "class", "classes");
  return html`<li class="group ${open ? "open" : ""}">
    <button class="group-head" ref=${head} aria-expanded=${String(open)} onClick=${toggle}>
      <svg
        class="arrow"
        viewBox="0 0 16 16"
        aria-hidden="true"
        fill="none"
        stroke="currentColor"
        stroke-width="1.6">
        <path d="M6 4l4 4-4 4" />
      </svg>
      <span class="what">
        <${Name} text=${group.key} most=${120} /> <span class="muted small ${by === "class" ? "" : "nowrap"}">
          <${Name} text=${other} most=${60} />
      </span>
      </span>
      <${Ages} group=${group} />
      <span class="share"><${Bar} part=${group.pods / most} tone="warn" /></span>
      <b class="number">${count(group.pods)}</b>
    </button>
    ${
      open &&
      html`<div class="group-body">
      ${group.key.length > 120 && html`<p class="whole name">${cut(group.key, 2000)}</p>`}
      ${
        cures &&
        group.examples.length > 0 &&
        html`
          <div class="group-cures">
            <p
              class="muted small">What would make one of them fit, searched for the pod <a
                class="name"
                href=${podLink(group.examples[0])}>
                <${Name} text=${group.examples[0]} />
            </a>
          </p>
            <${Cures} key=${group.examples[0]} pod=${group.examples[0]} />
        </div>`
      }
      <${PodsOf} group=${group} by=${by} cures=${cures} />
    </div>`
    }
  </li>`;
}

export function View({ session, query }) {
  const by = query.by === "class" ? "class" : "reason";
  const [offset, setOffset] = useState(0);
  const state = useData(pathOf(["pending"], { by, offset, limit: GROUPS }), "pending");
  const data = state.data ?? state.previous;
  if (!data) return html`<h1>Pending</h1><${Instead} state=${state} tall=${420} />`;
  const most = Math.max(1, ...data.groups.map((group) => group.pods));
  const toggle = (key) => () => adjust({ at: key === query.at ? "" : key }, { replace: true });
  return html`<div class="title">
      <h1>Pending</h1>
      <span class="sub">${many(data.total, "pod")} in ${many(data.groupsTotal, "group")}</span>
      <div class="settings"><${Choices} label="Group by" options=${[
        ["reason", "By reason"],
        ["class", "By class"],
      ]} value=${by} choose=${(key) => {
        setOffset(0);
        adjust({ by: key, at: "" }, { replace: true });
      }} /></div>
    </div>
    <${Failure} error=${state.error} />
    <${Card} wide>
      ${
        data.groups.length === 0
          ? html`<${Empty} title="No pod waits">All pods of this scheduler have a node.<//>`
          : html`<ul class="groups">
            ${data.groups.map(
              (group) =>
                html`
                <${Group}
                  key="${by} ${group.key}"
                  group=${group}
                  by=${by}
                  most=${most}
                  open=${group.key === query.at}
                  toggle=${toggle(group.key)}
                  cures=${session.capabilities.cures}
                />`,
            )}
          </ul>`
      }
      <${Pages} offset=${offset} limit=${GROUPS} total=${data.groupsTotal} turn=${setOffset} noun="groups" />
    <//>`;
}
