// What a command has found: figures, pictures and tables, in a file of their own.

import { Bar, Stack, StackLegend } from "../charts/bars.js";
import { Plot } from "../charts/plot.js";
import { useData } from "../data/hooks.js";
import { points, short } from "../data/text.js";
import { html, useState } from "../vendor/preact.js";
import { Card, Head, Instead, Name, Pages } from "./parts.js";

const PAGE = 50;
const COLOURS = 8;

export function View() {
  const state = useData("report", "");
  const report = state.data;
  if (!report) return html`<${Instead} state=${state} tall=${300} />`;
  return html`<div class="stack">
    <h1>${report.title}</h1>
    ${
      report.figures.length > 0 &&
      html`<ul class="tiles">
        ${report.figures.map(
          ([value, text]) => html`<li class="card tile" key=${text}>
            <span class="value">${value}</span><span class="muted small">${text}</span>
          </li>`,
        )}
      </ul>`
    }
    <${Notes} notes=${report.notes} />
    ${report.sections.map((section) => html`<${Part} key=${section.title} section=${section} />`)}
  </div>`;
}

function Notes({ notes }) {
  return notes.map((note) => html`<p key=${note} class="muted">${note}</p>`);
}

function Part({ section }) {
  const { title, chart, table, notes } = section;
  if (chart?.type === "lines") {
    return html`<${Lines} title=${title} chart=${chart} />
      ${(table || notes.length > 0) && html`<${Card} wide><${Rest} table=${table} notes=${notes} title=${title} /><//>`}`;
  }
  return html`<${Card} title=${title} wide>
    ${chart?.type === "bars" && html`<${Bars} chart=${chart} />`}
    ${chart?.type === "stacks" && html`<${Stacks} chart=${chart} />`}
    <${Rest} table=${table} notes=${notes} title=${title} />
  <//>`;
}

function Rest({ table, notes, title }) {
  return html`${table && html`<${Table} table=${table} title=${title} />`}
    ${notes.length > 0 && html`<div class="report-notes"><${Notes} notes=${notes} /></div>`}`;
}

function Lines({ title, chart }) {
  const series = Object.entries(chart.series).map(([name, values], i) => ({
    name,
    values,
    colour: `series-${(i % COLOURS) + 1}`,
  }));
  const across = { name: chart.across, format: short };
  return html`
    <${Plot}
      title=${title}
      unit=${chart.unit}
      at=${chart.at}
      series=${series}
      format=${points}
      across=${across}
      logarithmic=${chart.logarithmic}
      height=${260}
    />`;
}

function Items({ items, draw }) {
  return html`<ul class="reasons report-bars">
    ${items.map(
      ([label, value, text], i) => html`<li key=${i}>
        <span class="head"><${Name} text=${label} most=${110} /><span class="number">${text}</span></span>
        ${draw(value)}
      </li>`,
    )}
  </ul>`;
}

function Bars({ chart }) {
  const length = (value) => (chart.logarithmic ? Math.log(Math.max(1, value)) : value);
  const most = Math.max(1e-9, ...[chart.most ?? chart.items.map(([, value]) => value)].flat().map(length));
  return html`
    <${Items} items=${chart.items} draw=${(value) => html`<${Bar} part=${length(value) / most} />`} />`;
}

function Stacks({ chart }) {
  const named = (values) => Object.fromEntries(chart.names.map((name, i) => [name, values[i] ?? 0]));
  const whole = (values) => values.reduce((sum, each) => sum + (each ?? 0), 0);
  const most = Math.max(1e-9, ...chart.items.map(([, values]) => whole(values)));
  return html`<div class="report-bars"><${StackLegend} names=${chart.names} /></div>
    <${Items}
      items=${chart.items}
      draw=${(values) => html`<${Stack} names=${chart.names} values=${named(values)} most=${most} />`}
    />`;
}

function Table({ table, title }) {
  const [offset, setOffset] = useState(0);
  const words = table.headings.length - table.figures;
  const kind = (column) => (column < words ? "" : "number");
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${title} as a table">
      <table>
        <${Head} columns=${table.headings.map((heading, column) => [heading, kind(column)])} />
        <tbody>
          ${table.rows.slice(offset, offset + PAGE).map(
            (row, i) => html`<tr key=${offset + i}>
              ${row.map((cell, column) => html`<td class=${kind(column)}><${Name} text=${cell} most=${300} /></td>`)}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <${Pages} offset=${offset} limit=${PAGE} total=${table.rows.length} turn=${setOffset} noun=${title} />`;
}
