// Pods: all that are known, by name and phase; one pod when the hash names it.

import { pathOf } from "../data/api.js";
import { useData, useNow } from "../data/hooks.js";
import { adjust, podLink } from "../data/route.js";
import { age, many } from "../data/text.js";
import { html, useEffect, useState } from "../vendor/preact.js";
import { Card, Choices, Empty, Failure, Head, Instead, Name, NodeLink, Pages, Phase } from "./parts.js";
import { PodPage } from "./pod.js";

const PAGE = 50;
const PHASES = [
  ["", "All"],
  ["pending", "Pending"],
  ["bound", "Bound"],
  ["gone", "Gone"],
];

export function View({ session, parts, query }) {
  return parts.length >= 2
    ? html`<${PodPage} key=${parts.join("/")} name=${parts.join("/")} session=${session} />`
    : html`<${PodList} query=${query} />`;
}

function PodList({ query }) {
  const [offset, setOffset] = useState(0);
  const [text, setText] = useState(query.q ?? "");
  const [namespace, setNamespace] = useState(query.namespace ?? "");
  useEffect(() => setText(query.q ?? ""), [query.q]);
  useEffect(() => {
    if (text === (query.q ?? "") && namespace === (query.namespace ?? "")) return undefined;
    const timer = setTimeout(() => {
      setOffset(0);
      adjust({ q: text, namespace }, { replace: true });
    }, 200);
    return () => clearTimeout(timer);
  }, [text, namespace]);
  const { phase, node, reason, class: kind, q } = query;
  const state = useData(
    pathOf(["pods"], {
      phase,
      node,
      reason,
      class: kind,
      q,
      namespace: query.namespace,
      offset,
      limit: PAGE,
    }),
    "pending",
  );
  const now = useNow();
  const data = state.data ?? state.previous;
  return html`<div class="title">
      <h1>Pods</h1>
      <span class="sub">${data ? many(data.total, "pod") : ""}</span>
      <div class="settings">
        <label class="field">
          <span class="unseen">A part of the name</span>
          <input
            type="search"
            placeholder="A part of the name"
            value=${text}
            onInput=${(event) => setText(event.target.value)}
          />
        </label>
        <label class="field">
          <span class="unseen">Namespace</span>
          <input
            type="search"
            placeholder="Namespace"
            value=${namespace}
            onInput=${(event) => setNamespace(event.target.value)}
          />
        </label>
        <${Choices}
          label="Phase"
          options=${PHASES}
          value=${phase ?? ""}
          choose=${(key) => {
            setOffset(0);
            adjust({ phase: key }, { replace: true });
          }}
        />
      </div>
    </div>
    <${Failure} error=${state.error} />
    <${Card} wide>
      ${!data && html`<${Instead} state=${state} tall=${300} />`}
      ${
        data &&
        data.items.length === 0 &&
        html`
          <${Empty} title="No such pod">${q ? "No pod's name contains this text." : "No pod is in this phase."}
        <//>`
      }
      ${
        data &&
        data.items.length > 0 &&
        html`
          <div class="scroll" tabindex="0" role="region" aria-label="Pods as a table">
            <${Rows} items=${data.items} now=${now} />
        </div>`
      }
      ${data && html`<${Pages} offset=${offset} limit=${PAGE} total=${data.total} turn=${setOffset} noun="pods" />`}
    <//>`;
}

function Rows({ items, now }) {
  return html`<table>
    <${Head} columns=${["Pod", "Phase", "Node or reason", ["Age", "number"], ["In phase for", "number"]]} />
    <tbody>
      ${items.map(
        (pod) => html`<tr key=${pod.name}>
          <td><a href=${podLink(pod.name)}><${Name} text=${pod.name} most=${70} /></a></td>
          <td><${Phase} phase=${pod.phase} /></td>
          <td>
            ${
              pod.node
                ? html`<${NodeLink} name=${pod.node} />`
                : html`<span class="muted"><${Name} text=${pod.reason ?? ""} most=${90} /></span>`
            }
          </td>
          <td class="number">${age(pod.created, now)}</td>
          <td class="number">${age(pod.since, now)}</td>
        </tr>`,
      )}
    </tbody>
  </table>`;
}
