// The cheapest cures of a pod that waits: what would have to change or move, and what that costs others. They are worked out by
// the server's own process, so that it is asked until it has them.

import { announce } from "../data/announce.js";
import { get, pathOf, post } from "../data/api.js";
import { podLink } from "../data/route.js";
import { many, time } from "../data/text.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Badge, Empty, Failure, Name, NodeLink } from "./parts.js";

const FIRST_PAUSE = 300;
const MOST_PAUSE = 3000;

const pause = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("given up", "AbortError"));
    });
  });

async function followed(pod, signal, tell) {
  const { job } = await post("cures", { pod }, signal);
  for (let wait = FIRST_PAUSE; ; wait = Math.min(1.5 * wait, MOST_PAUSE)) {
    const found = await get(pathOf(["cures", job]), signal);
    tell(found);
    if (found.state === "done" || found.state === "failed") return found;
    await pause(wait, signal);
  }
}

/** {found, error, working, start, stop} */
function useCures(pod) {
  const [state, setState] = useState({ found: null, error: null, working: false });
  const running = useRef(null);
  const stop = () => {
    running.current?.abort();
    running.current = null;
    setState((old) => ({ ...old, working: false }));
  };
  const start = () => {
    running.current?.abort();
    running.current = new AbortController();
    const { signal } = running.current;
    setState({ found: null, error: null, working: true });
    followed(pod, signal, (found) => !signal.aborted && setState({ found, error: null, working: true })).then(
      (found) => {
        setState({ found, error: null, working: false });
        announce(
          found.state === "done"
            ? `${many(found.cures.length, "cure")} found`
            : "The search for cures failed",
        );
      },
      (error) => error.name !== "AbortError" && setState({ found: null, error, working: false }),
    );
  };
  useEffect(() => () => running.current?.abort(), [pod]);
  return { ...state, start, stop };
}

function Cure({ cure, place }) {
  return html`<li class="cure">
    <span class="place" aria-hidden="true">${place}</span>
    <div>
      <p class="what name">${cure.text} <${Badge}>${cure.kind}<//></p>
      <p class="small">
        <span class="muted">Effect on other pods:</span> <span class="name">${cure.others || "nothing"}
      </span>
      </p>
      ${
        cure.node &&
        html`
          <p class="small"><span class="muted">The pod would fit on</span> <${NodeLink} name=${cure.node} />
        </p>`
      }
      ${
        cure.changes.length > 0 &&
        html`
          <ul class="changes">
            ${cure.changes.map(
              (each) =>
                html`
                <li key=${each} class="mono name">${typeof each === "string" ? each : JSON.stringify(each)}
              </li>`,
            )}
        </ul>`
      }
      ${
        cure.moves.length > 0 &&
        html`<ul class="changes">
        ${cure.moves.map(
          (move) => html`<li key=${move.pod} class="small">
            <a class="name" href=${podLink(move.pod)}><${Name} text=${move.pod} /></a>
            <span class="muted"> from </span><${NodeLink} name=${move.from} />
            ${
              move.to
                ? html`<span class="muted"> to </span><${NodeLink} name=${move.to} />`
                : html`<span class="muted"> waits afterwards</span>`
            }
          </li>`,
        )}
      </ul>`
      }
    </div>
  </li>`;
}

/** The button, the progress and the cures of one pod. `auto`: begin at once. */
export function Cures({ pod, auto = false }) {
  const { found, error, working, start, stop } = useCures(pod);
  useEffect(() => {
    if (auto) start();
  }, [pod, auto]);
  const done = found?.state === "done";
  return html`<div class="cures" aria-busy=${String(working)}>
    ${
      !working &&
      !auto &&
      html`
        <button class="button ${done ? "" : "main-action"}" onClick=${start}>
          ${done ? "Search again" : "Cheapest cures"}
      </button>`
    }
    ${
      working &&
      html`<div class="progress">
      <span class="spinner" aria-hidden="true"></span>
      <span>${found?.progress || (found?.state === "waiting" ? "Waiting for another search" : "Searching for cures")}</span>
      ${!auto && html`<button class="button quiet" onClick=${stop}>Stop</button>`}
    </div>`
    }
    <${Failure}
      error=${
        error ??
        (found?.state === "failed" ? { message: found.error ?? "The search for cures failed." } : null)
      }
    />
    ${
      done &&
      found.cures.length === 0 &&
      html`<${Empty} tight title="No cure was found">${found.note || "No change that was tried would make the pod fit."}<//>`
    }
    ${
      done &&
      found.cures.length > 0 &&
      html`
        <ol class="cure-list" aria-label="Cures, cheapest first">
          ${found.cures.map((cure, i) => html`<${Cure} key=${`${i} ${cure.text}`} cure=${cure} place=${i + 1} />`)}
      </ol>
      <p class="muted small">As of ${time(found.asOf)}, cheapest first. The search changes nothing in the cluster.</p>`
    }
  </div>`;
}
