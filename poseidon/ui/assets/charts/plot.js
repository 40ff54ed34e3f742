// Lines by uPlot, over time or over anything else: one plot of a few lines, kept while data come, destroyed with the view. All
// plots over time share a cursor.

import { useSize } from "../data/hooks.js";
import { useStore } from "../data/store.js";
import { moment, NONE, time } from "../data/text.js";
import { theme, tone } from "../data/theme.js";
import { html, useEffect, useMemo, useRef, useState } from "../vendor/preact.js";
import uPlot from "../vendor/uplot.js";

const FONT = '11px Inter, system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

const overTime = {
  name: "Time",
  format: time,
  ticks: (ticks) => ticks.map((at) => moment(at, ticks[1] - ticks[0] < 60)),
};

function options(series, format, across, logarithmic, width, height, hovered) {
  const axis = {
    stroke: tone("muted"),
    font: FONT,
    grid: { stroke: tone("grid"), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height,
    padding: [8, 14, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 7 },
      drag: { x: false, y: false },
      sync: across === overTime ? { key: "time" } : undefined,
    },
    scales: {
      x: { time: across === overTime, distr: logarithmic ? 3 : 1 },
      y: logarithmic
        ? { distr: 3 }
        : { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.08] },
    },
    axes: [
      {
        ...axis,
        size: 26,
        space: 70,
        values: (_, ticks) => across.ticks?.(ticks) ?? distinct(ticks, across.format),
      },
      {
        ...axis,
        size: 54,
        space: 34,
        gap: 6,
        values: (_, ticks) => distinct(ticks, format),
      },
    ],
    series: [
      {},
      ...series.map(({ name, colour, fill, dash }) => ({
        label: name,
        stroke: tone(colour),
        width: 1.75,
        dash,
        spanGaps: across !== overTime,
        fill: fill ? `color-mix(in srgb, ${tone(colour)} 14%, transparent)` : undefined,
        points: {
          show: true,
          size: 5,
          fill: tone(colour),
          filter: (plot, which) => lonely(plot.data[which]),
        },
      })),
    ],
    hooks: { setCursor: [(plot) => hovered(plot.cursor.idx ?? null)] },
  };
}

/** The texts of ticks; of neighbours that read alike the first alone, and none of those that are left out. */
function distinct(ticks, format) {
  return ticks.map((tick, i) =>
    tick === null || (i && ticks[i - 1] !== null && format(tick) === format(ticks[i - 1]))
      ? ""
      : format(tick),
  );
}

/** Values without a neighbour, which a line cannot show. */
function lonely(values) {
  const known = (i) => values[i] !== null && values[i] !== undefined;
  return values.flatMap((_, i) => (known(i) && !known(i - 1) && !known(i + 1) ? [i] : []));
}

function lastOf(values) {
  for (let i = values.length - 1; i >= 0; i -= 1)
    if (values[i] !== null && values[i] !== undefined) return values[i];
  return null;
}

/**
 * `series`: [{name, colour (a variable's name), values, fill, dash}] over `at`, seconds unless `across` says what they are and
 * how they are written; `format` makes values text. With `logarithmic` axes what is not above 0 is left out.
 */
export function Plot({
  title,
  unit,
  at,
  series,
  format,
  across = overTime,
  logarithmic = false,
  height = 168,
}) {
  const place = useRef(null);
  const plot = useRef(null);
  const { width } = useSize(place);
  const colours = useStore(theme);
  const [index, setIndex] = useState(null);
  const data = useMemo(() => [at, ...series.map((each) => each.values)], [at]);
  const shape = series.map((each) => each.name).join();

  useEffect(() => {
    if (!width || !at.length) return undefined;
    plot.current = new uPlot(
      options(series, format, across, logarithmic, width, height, setIndex),
      data,
      place.current,
    );
    return () => {
      plot.current.destroy();
      plot.current = null;
    };
  }, [colours, shape, width > 0, at.length > 0]);
  useEffect(() => plot.current?.setData(data), [data]);
  useEffect(() => {
    if (plot.current && width) plot.current.setSize({ width, height });
  }, [width]);

  const shown = index !== null && index < at.length ? index : null;
  const value = ({ values }) => format(shown === null ? lastOf(values) : values[shown]);
  const said = series.map((each) => `${each.name} ${format(lastOf(each.values))}`).join(", ");
  return html`<section class="card">
    <header>
      <h2>${title} ${unit && html`<span class="muted small plain">${unit}</span>`}</h2>
      <span class="end plot-values">
        ${shown !== null && html`<span class="muted">${across.format(at[shown])}</span>`}
        ${series.map(
          (
            each,
          ) => html`<span key=${each.name}><i class="swatch ${each.colour} ${each.dash ? "dashed" : ""}"></i
            >${series.length > 1 && html`<span class="muted">${each.name}</span>`} <b>${value(each)}</b></span>`,
        )}
      </span>
    </header>
    <div class="body plot-body">
      <div class="plot" ref=${place} role="img" aria-label="${title}: ${said}">
        ${!at.length && html`<p class="note">No figures yet</p>`}
      </div>
      <${AsTable} title=${title} at=${at} series=${series} format=${format} across=${across} />
    </div>
  </section>`;
}

const ROWS = 30;

/** The same as a table, evenly thinned out; made only when it is opened. */
function AsTable({ title, at, series, format, across }) {
  const [open, setOpen] = useState(false);
  const step = Math.max(1, Math.floor(at.length / ROWS));
  const rows = open
    ? at
        .map((_, i) => i)
        .filter((i) => (at.length - 1 - i) % step === 0)
        .reverse()
    : [];
  return html`<details class="as-table" onToggle=${(event) => setOpen(event.target.open)}>
    <summary>As a table</summary>
    ${
      open &&
      html`<div class="scroll short-list" tabindex="0" role="region" aria-label="${title} as a table">
      <table class="bare">
        <thead>
          <tr>
            <th scope="col">${across.name}</th>
            ${series.map((each) => html`<th scope="col" class="number">${each.name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (i) => html`<tr key=${at[i]}>
              <td>${across.format(at[i])}</td>
              ${series.map(
                ({ values }) =>
                  html`<td class="number">${values[i] === null ? NONE : format(values[i])}</td>`,
              )}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`
    }
  </details>`;
}
