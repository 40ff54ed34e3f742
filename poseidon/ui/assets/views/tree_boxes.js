// A placed tree as boxes within boxes, down to pods with their ranks.

import { own } from "../data/own.js";
import { podLink } from "../data/route.js";
import { count, cut } from "../data/text.js";
import { html } from "../vendor/preact.js";
import { Name } from "./parts.js";

function podsIn(part) {
  return Array.isArray(part) ? part.length : Object.values(part).reduce((sum, each) => sum + podsIn(each), 0);
}

function Box({ name, part, depth, tree }) {
  const level = tree.levels[depth];
  return html`<li class="box depth-${Math.min(depth, 3)} ${Array.isArray(part) ? "leaf" : ""}">
    <p class="box-head">
      <${Name} text=${name} most=${32} /> <span class="muted">${level ? `${level}, ` : ""}${count(podsIn(part))}
    </span>
    </p>
    ${
      Array.isArray(part)
        ? html`<ul class="ranks">
          ${part.map((pod) => {
            const rank = own(tree.ranks, pod);
            const inner = html`<b>${rank ?? "·"}</b><span class="unseen">rank of ${cut(pod, 80)}</span>`;
            return html`
              <li key=${pod} title=${cut(pod, 200)}>
                ${pod.includes("/") ? html`<a href=${podLink(pod)}>${inner}</a>` : html`<span>${inner}</span>`}
            </li>`;
          })}
        </ul>`
        : html`
          <ul class="boxes">
            ${Object.entries(part).map(
              ([key, each]) =>
                html`<${Box} key=${key} name=${key} part=${each} depth=${depth + 1} tree=${tree} />`,
            )}
        </ul>`
    }
  </li>`;
}

export function TreeBoxes({ tree }) {
  return html`
    <ul class="boxes">
      ${Object.entries(tree.placement).map(
        ([key, each]) => html`<${Box} key=${key} name=${key} part=${each} depth=${0} tree=${tree} />`,
      )}
  </ul>`;
}
