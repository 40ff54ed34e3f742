// How things go: counts, figures over time, why pods wait, the last rounds, who leads and who solves.

import { Bar, ResourceBar } from "../charts/bars.js";
import { Plot } from "../charts/plot.js";
import { pathOf } from "../data/api.js";
import { useData } from "../data/hooks.js";
import { own } from "../data/own.js";
import { link } from "../data/route.js";
import { count, duration, many, rate, short } from "../data/text.js";
import { html } from "../vendor/preact.js";
import { Badge, Card, Empty, Failure, Instead, Name } from "./parts.js";
import { proof, RoundsStrip } from "./rounds_strip.js";

function Tile({ label, value, sub, tone, href }) {
  const inner = html`<span class="label">${label}</span>
    <span class="value ${tone ? `${tone}-text` : ""}">${value}</span>
    <span class="sub">${sub || "\u00a0"}</span>`;
  return href
    ? html`<a class="card tile" href=${href}>${inner}</a>`
    : html`<div class="card tile">${inner}</div>`;
}

/** The last value that is known, however old: for what is only known of times at which something happened. */
function last(values) {
  for (let i = (values?.length ?? 0) - 1; i >= 0; i -= 1) if (values[i] !== null) return values[i];
  return null;
}

function Tiles({ data }) {
  const { pods, figures, history, rounds } = data;
  const newest = rounds[rounds.length - 1];
  const waiting = Object.entries(data.waiting).filter(([, n]) => n > 0);
  const { p50, p99 } = figures?.seconds.scheduling ?? {};
  // While nothing is bound, how long it took last.
  const scheduling = { p50: p50 ?? last(history.schedulingP50), p99: p99 ?? last(history.schedulingP99) };
  return html`<div class="tiles">
    <${Tile} label="Nodes" value=${count(data.nodes)} sub="in this cluster" href=${link("cluster")} />
    <${Tile} label="Pods bound" value=${count(pods.bound)} sub=${pods.others > 0 && `${count(pods.others)} more have ended`} />
    <${Tile}
      label="Pods pending"
      value=${count(pods.pending)}
      tone=${pods.pending ? "warn" : ""}
      sub=${waiting.map(([how, n]) => `${short(n)} ${how}`).join(", ") || "none waits"}
      href=${link("pending")}
    />
    <${Tile}
      label="Bound per second"
      value=${rate(figures?.boundPerSecond)}
      sub=${figures ? `${count(figures.bindingsInFlight)} bindings in flight` : "the bridge serves no metrics"}
    />
    <${Tile}
      label="Creation to binding"
      value=${duration(scheduling.p50)}
      sub=${scheduling.p99 !== null && `99 % within ${duration(scheduling.p99)}`}
    />
    <${Tile}
      label="Newest round"
      value=${newest ? `#${newest.round}` : "–"}
      sub=${newest ? proof(newest) : "none yet"}
      href=${newest && link("flow")}
    />
  </div>`;
}

function Utilisation({ rows }) {
  if (!rows.length) return null;
  const grouped = (text) => (/^\d+$/.test(text) ? count(Number(text)) : text);
  const percent = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} %` : "none offered");
  return html`<${Card} title="Utilisation" sub="requested of allocatable; line: measured">
    <ul class="utilisation">
      ${rows.map(
        ({ resource, allocatable, requested, used, text }) => html`<li key=${resource}>
          <span class="head">
            <${Name} text=${resource} most=${26} /><b class="number">${percent(requested, allocatable)}</b>
          </span>
          <${ResourceBar} requested=${requested} used=${used} allocatable=${allocatable} />
          <span class="muted small number">
            ${grouped(text.requested)} of ${grouped(text.allocatable)}${text.used ? `, ${grouped(text.used)} measured` : ""}
          </span>
        </li>`,
      )}
    </ul>
  <//>`;
}

function Reasons({ reasons }) {
  const most = Math.max(1, ...reasons.map((each) => each.pods));
  const shown = reasons.slice(0, 8);
  return html`<${Card}
    title="Why pods wait"
    sub=${reasons.length > 0 && many(reasons.length, "reason")}
    end=${html`<a href=${link("pending")}>All pending pods</a>`}
  >
    ${
      reasons.length === 0
        ? html`<${Empty} title="No pod waits" />`
        : html`<ul class="reasons">
          ${shown.map(
            ({ reason, pods }) => html`<li key=${reason}>
              <a href=${link("pending", { by: "reason", at: reason })}>
                <span class="head"><${Name} text=${reason} most=${90} /><b class="number">${count(pods)}</b></span>
                <${Bar} part=${pods / most} tone="warn" />
              </a>
            </li>`,
          )}
        </ul>`
    }
  <//>`;
}

const SOLVER = {
  connected: ["good", "connected"],
  embedded: ["good", "embedded"],
  refused: ["bad", "refuses"],
  unreachable: ["bad", "unreachable"],
};

function within({ p50, p99 }) {
  return p50 === null ? "–" : `${duration(p50)}, 99 % within ${duration(p99)}`;
}

function Programs({ data }) {
  const { leader, solver, figures } = data;
  const [tone, word] = own(SOLVER, solver.state) ?? ["", solver.state];
  const stages = figures?.stages;
  return html`<${Card} title="Bridge and solver">
    <dl class="facts">
      <dt>Leader</dt>
      <dd>
        ${leader.holder ? html`<${Name} text=${leader.holder} />` : html`<span class="muted">not known</span>`}
        ${leader.leads === false && html` <${Badge} tone="warn">does not lead<//>`}
      </dd>
      <dt>Standby</dt>
      <dd>
        ${
          leader.others.length
            ? leader.others.map((name) => html`<div key=${name}><${Name} text=${name} /></div>`)
            : html`<span class="muted">none</span>`
        }
      </dd>
      <dt>Solver</dt>
      <dd>
        <${Badge} tone=${tone}><span class="dot ${tone}"></span>${word}
      <//> <${Name} text=${solver.target || ""} />
      </dd>
      <dt>Rounds failed</dt>
      <dd class=${solver.roundFailures ? "bad-text" : ""}>${count(solver.roundFailures)}</dd>
      ${
        figures &&
        html`<dt>Rounds per second</dt>
        <dd>${rate(figures.roundsPerSecond)}</dd>
        <dt>Arcs</dt>
        <dd>${count(figures.arcs)}</dd>
        <dt>Sent to placed</dt>
        <dd>${within(figures.seconds.answer)}</dd>
        <dt>Binding</dt>
        <dd>${within(figures.seconds.binding)}</dd>
        ${
          stages &&
          html`
            <dt>Mean round</dt>
            <dd>${duration(Object.values(stages).reduce((sum, each) => sum + (each ?? 0), 0))}
          </dd>`
        }`
      }
    </dl>
  <//>`;
}

function Plots({ history }) {
  const { at } = history;
  return html`<div class="plots">
    <${Plot} title="Throughput" unit="pods bound per second" at=${at} format=${rate}
      series=${[{ name: "bound", colour: "series-1", values: history.boundPerSecond, fill: true }]} />
    <${Plot} title="Latency" unit="creation to binding" at=${at} format=${duration}
      series=${[
        { name: "p50", colour: "series-3", values: history.schedulingP50 },
        { name: "p99", colour: "series-4", values: history.schedulingP99 },
      ]} />
    <${Plot} title="Pending" unit="pods" at=${at} format=${short}
      series=${[{ name: "pending", colour: "series-2", values: history.pending, fill: true }]} />
  </div>`;
}

export function View({ session }) {
  const state = useData(pathOf(["overview"]), "overview");
  const { data, error } = state;
  if (!data) return html`<h1 class="unseen">Overview</h1><${Instead} state=${state} tall=${520} />`;
  return html`<h1 class="unseen">Overview</h1>
    <${Failure} error=${error} />
    <div class="stack">
      <${Tiles} data=${data} />
      <${Utilisation} rows=${data.utilisation} />
      ${session.capabilities.figures && html`<${Plots} history=${data.history} />`}
      <${RoundsStrip} rounds=${data.rounds} />
      <div class="columns">
        <${Reasons} reasons=${data.pendingByReason} />
        <${Programs} data=${data} />
      </div>
    </div>`;
}
