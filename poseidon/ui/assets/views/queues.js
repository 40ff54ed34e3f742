// Queues as a tree of quotas: what is nominal, used, borrowed and lent, and what waits. A queue opens to its waiting workloads.

import { Bar, useStyle } from "../charts/bars.js";
import { announce } from "../data/announce.js";
import { get, pathOf } from "../data/api.js";
import { useNow } from "../data/hooks.js";
import { own } from "../data/own.js";
import { link } from "../data/route.js";
import { age, count, many, time } from "../data/text.js";
import { html, useEffect, useState } from "../vendor/preact.js";
import { Card, Empty, Failure, Head, Loading, Name, Pages } from "./parts.js";

const QUEUES = 200;
const WORKLOADS = 50;
const MOST_INDENTED = 8;
const WORKING = 1000; // milliseconds until the next question while the server works on the answer
const PAUSE = 15000; // and once it has answered

/** The data of a path, asked again and again while the page can be seen. Nothing is asked for the path null. */
function useAnswers(path) {
  const [state, setState] = useState({ path, data: undefined, error: null });
  useEffect(() => {
    if (path === null) return undefined;
    const waiting = new AbortController();
    let timer;
    const ask = () => {
      if (document.hidden) {
        timer = setTimeout(ask, WORKING);
        return;
      }
      get(path, waiting.signal).then(
        (data) => {
          setState({ path, data, error: null });
          timer = setTimeout(ask, data.state === "working" ? WORKING : PAUSE);
        },
        (error) => {
          if (error.name === "AbortError") return;
          setState((old) => ({ path, data: old.path === path ? old.data : undefined, error }));
          timer = setTimeout(ask, PAUSE);
        },
      );
    };
    ask();
    return () => {
      waiting.abort();
      clearTimeout(timer);
    };
  }, [path]);
  return state.path === path ? state : { path, data: undefined, error: null };
}

/** Expected starts, once somebody has asked for them: {data, error, button}. `queue`: also of its workloads. */
function useStarts(queue) {
  const [wanted, setWanted] = useState(false);
  const { data, error } = useAnswers(wanted ? pathOf(["queues", "starts"], { queue }) : null);
  const known = data?.asOf > 0;
  useEffect(() => {
    if (known) announce("Expected starts are shown");
  }, [known]);
  const working = wanted && !known && !error && data?.state !== "failed";
  const button = working
    ? html`<span class="progress"><span class="spinner" aria-hidden="true"></span> Simulating several futures</span>`
    : !wanted && html`<button class="button" onClick=${() => setWanted(true)}>When do they start?</button>`;
  return { data: known ? data : null, error: error ?? problem(data), button };
}

/** Why the last look of the server has failed, null if it has not. */
function problem(data) {
  return data?.error ? { message: `The queues could not be read: ${data.error}` } : null;
}

function AsOf({ data }) {
  if (!data.asOf) return html`<span class="sub">reading the queues</span>`;
  return html`<span class="sub">as of ${time(data.asOf)}${data.state === "working" ? ", reading them again" : ""}</span>`;
}

const AMOUNTS = ["nominal", "used", "borrowed", "lent"];
const USE_COLUMNS = [
  "Flavor",
  "Resource",
  "Used of nominal",
  ["Nominal", "number"],
  ["Used", "number"],
  ["Borrowed", "number"],
  ["Lent", "number"],
];

function UseCells({ use }) {
  return html`<td><${Name} text=${use.flavor} most=${30} /></td>
    <td><${Name} text=${use.resource} most=${30} /></td>
    <td class="quota-bar">
      ${use.nominal > 0 && html`<${Bar} part=${use.used / use.nominal} tone=${use.borrowed > 0 ? "warn" : ""} />`}
    </td>
    ${AMOUNTS.map(
      (name) =>
        html`<td key=${name} class="number ${name === "borrowed" && use.borrowed > 0 ? "warn-text" : ""}">${use.text[name]}</td>`,
    )}`;
}

/** The cells of a queue without uses: why it admits nothing, or nothing. */
function NoUses({ queue }) {
  return html`<td colspan=${USE_COLUMNS.length} class="muted"><${Name} text=${queue.message} most=${200} /></td>`;
}

function Indented({ depth, children }) {
  const element = useStyle({ "padding-left": `${1.25 * Math.min(depth, MOST_INDENTED)}em` });
  return html`<span class="indented" ref=${element}>${children}</span>`;
}

function StartCells({ found }) {
  return [0, 1].map((i) => html`<td key=${i} class="number nowrap">${found?.text[i] ?? ""}</td>`);
}

const START_COLUMNS = [
  ["First starts in", "number"],
  ["Last starts in", "number"],
];

function QueueRows({ queue, starts }) {
  const uses = queue.message || !queue.uses.length ? [null] : queue.uses;
  return uses.map(
    (use, i) => html`<tr key=${i}>
      ${
        i === 0 &&
        html`<th scope="row" rowspan=${uses.length} class="queue-name">
          <${Indented} depth=${queue.depth}>
            <a href=${link(["queues", queue.queue])}><${Name} text=${queue.queue} most=${60} /></a>
          <//>
        </th>
        <td rowspan=${uses.length} class="number">${count(queue.admitted)}</td>
        <td rowspan=${uses.length} class="number ${queue.waiting ? "warn-text" : "muted"}">${count(queue.waiting)}</td>`
      }
      ${use ? html`<${UseCells} use=${use} />` : html`<${NoUses} queue=${queue} />`}
      ${
        starts &&
        (i === 0
          ? html`<${StartCells} found=${own(starts.queues, queue.queue)} />`
          : html`<${StartCells} found=${null} />`)
      }
    </tr>`,
  );
}

function AllQueues() {
  const [offset, setOffset] = useState(0);
  const { data, error } = useAnswers(pathOf(["queues"], { offset, limit: QUEUES }));
  const starts = useStarts("");
  if (!data)
    return html`<h1>Queues</h1>${error ? html`<${Failure} error=${error} />` : html`<${Loading} tall=${420} />`}`;
  return html`<div class="title">
      <h1>Queues</h1>
      <span class="sub">${data.asOf > 0 && many(data.total, "queue")}</span>
      <${AsOf} data=${data} />
      <div class="settings">${data.total > 0 && starts.button}</div>
    </div>
    <${Failure} error=${error ?? problem(data) ?? starts.error} />
    ${data.note && data.total > 0 && html`<p class="muted small">${data.note}</p>`}
    <${Card} wide>
      ${!data.asOf && data.state === "working" && html`<${Loading} tall=${240} label="Reading the queues" />`}
      ${data.asOf > 0 && data.total === 0 && html`<${Empty} title="No queues">${data.note}<//>`}
      ${
        data.total > 0 &&
        html`<div class="scroll" tabindex="0" role="region" aria-label="Queues as a table">
        <table>
          <${Head}
            columns=${[
              "Queue",
              ["Admitted", "number"],
              ["Waiting", "number"],
              ...USE_COLUMNS,
              ...(starts.data ? START_COLUMNS : []),
            ]}
          />
          <tbody>
            ${data.queues.map((queue) => html`<${QueueRows} key=${queue.queue} queue=${queue} starts=${starts.data} />`)}
          </tbody>
        </table>
      </div>`
      }
      <${Pages} offset=${offset} limit=${QUEUES} total=${data.total} turn=${setOffset} noun="queues" />
    <//>`;
}

function Uses({ queue }) {
  return html`<${Card} wide title="Quota" sub="${count(queue.admitted)} admitted, ${count(queue.waiting)} waiting">
    <div class="scroll" tabindex="0" role="region" aria-label="Quota by flavor and resource">
      <table>
        <${Head} columns=${USE_COLUMNS} />
        <tbody>
          ${queue.message && html`<tr><${NoUses} queue=${queue} /></tr>`}
          ${queue.uses.map((use) => html`<tr key="${use.flavor} ${use.resource}"><${UseCells} use=${use} /></tr>`)}
        </tbody>
      </table>
    </div>
  <//>`;
}

function Workloads({ data, workload, starts, turn }) {
  const now = useNow();
  if (!data.total)
    return html`<${Empty} title="Nothing waits">All workloads of this queue have nodes, or will get them.<//>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Waiting workloads in their order">
      <table>
        <${Head}
          columns=${[
            ["Position", "number"],
            "Workload",
            ["Pods", "number"],
            ["Priority", "number"],
            ["Age", "number"],
            "Waits for",
            ...(starts ? START_COLUMNS : []),
          ]}
        />
        <tbody>
          ${data.items.map(
            (each) => html`<tr key=${each.workload} class=${each.workload === workload ? "chosen" : ""}>
              <td class="number">${count(each.position)}</td>
              <td>
                <a href=${link("pods", { class: each.workload, phase: "pending" })}>
                  <${Name} text=${each.workload} most=${70} />
                </a>
              </td>
              <td class="number">${count(each.pods)}</td>
              <td class="number">${count(each.priority)}</td>
              <td class="number nowrap">${age(each.created || null, now)}</td>
              <td class="muted"><${Name} text=${each.reason} most=${160} /></td>
              ${starts && html`<${StartCells} found=${own(starts.workloads, each.workload)} />`}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <${Pages} offset=${data.offset} limit=${WORKLOADS} total=${data.total} turn=${turn} noun="workloads" />`;
}

/** One queue: `name` it, or a `workload` that is in it. */
function OneQueue({ name, workload }) {
  const [turned, setTurned] = useState(null);
  const known = turned?.queue ?? name;
  const query = known
    ? { queue: known, offset: turned?.offset, limit: WORKLOADS }
    : { workload, limit: WORKLOADS };
  const { data, error } = useAnswers(pathOf(["queues", "workloads"], query));
  const queue = data?.queue;
  const starts = useStarts(queue?.queue ?? name ?? "");
  return html`<div class="title">
      <h1><${Name} text=${queue?.queue ?? name ?? workload} most=${120} /></h1>
      ${data && html`<${AsOf} data=${data} />`}
      <div class="settings">
        ${data?.total > 0 && starts.button} <a href=${link("queues")}>All queues</a>
      </div>
    </div>
    <${Failure} error=${error ?? problem(data) ?? starts.error} />
    ${!error && !queue && !problem(data) && html`<${Loading} tall=${240} label="Reading the queues" />`}
    ${
      queue &&
      html`<div class="stack">
      <${Uses} queue=${queue} />
      <${Card} wide title="Waiting workloads" sub="in the order in which the queue admits them">
        <${Workloads}
          data=${data}
          workload=${workload}
          starts=${starts.data}
          turn=${(offset) => setTurned({ queue: queue.queue, offset })}
        />
      <//>
    </div>`
    }`;
}

export function View({ parts, query }) {
  if (parts.length || query.workload) {
    const key = parts[0] ?? query.workload;
    return html`<${OneQueue} key=${key} name=${parts[0]} workload=${query.workload} />`;
  }
  return html`<${AllQueues} />`;
}
