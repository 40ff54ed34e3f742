// The last rounds as a strip of bars: height is time, parts are stages, the mark below says whether the round is certified.

import { StackLegend } from "../charts/bars.js";
import { seriesColour } from "../charts/colour.js";
import { useSize } from "../data/hooks.js";
import { go, link } from "../data/route.js";
import { count, duration, gap, many, time } from "../data/text.js";
import { html, useRef, useState } from "../vendor/preact.js";
import { Card, Empty } from "./parts.js";

export const STAGES = ["snapshot", "network", "solve", "admit"];
const HEIGHT = 132;
const FOOT = 14;
const AXIS = 46;

function total(round) {
  return STAGES.reduce((sum, stage) => sum + (round.seconds[stage] || 0), 0);
}

export function proof(round) {
  return round.certified ? "flow certified" : `not certified: ≤ ${gap(round.gap)} could be saved`;
}

function said(round) {
  return `Round ${round.round}, ${time(round.ended)}: ${duration(total(round))}, ${count(round.placed)} of ${many(
    round.tasks,
    "pod",
  )} placed, ${proof(round)}${round.flow ? "" : ", its flow is not kept"}`;
}

function RoundBar({ round, x, width, scale, chosen }) {
  let y = HEIGHT - FOOT;
  const mark = x + width / 2;
  return html`<g class=${chosen ? "chosen" : ""}>
    ${chosen && html`<rect class="halo" x=${x - 1} y="0" width=${width + 2} height=${HEIGHT} />`}
    ${STAGES.map((stage, i) => {
      const height = (round.seconds[stage] || 0) * scale;
      y -= height;
      return html`
        <rect
          key=${stage}
          x=${x}
          y=${y.toFixed(2)}
          width=${width}
          height=${Math.max(0, height - 0.4).toFixed(2)}
          fill=${seriesColour(i)}
        />`;
    })}
    ${
      round.certified
        ? html`<rect class="certified" x=${mark - 1.25} y=${HEIGHT - 9} width="2.5" height="5" rx="1" />`
        : html`<path class="uncertified" d="M${mark} ${HEIGHT - 11}l3 3-3 3-3-3z" />`
    }
  </g>`;
}

export function RoundsStrip({ rounds }) {
  const place = useRef(null);
  const { width } = useSize(place);
  const [at, setAt] = useState(null);
  const room = Math.max(0, width - AXIS);
  const step = Math.max(7, Math.min(16, Math.floor(room / Math.max(1, rounds.length))));
  const shown = rounds.slice(-Math.max(1, Math.floor(room / step)));
  const chosen = at === null ? shown.length - 1 : Math.min(at, shown.length - 1);
  const most = Math.max(1e-6, ...shown.map(total));
  const scale = (HEIGHT - FOOT - 8) / most;
  const round = shown[chosen];

  const near = (event) => {
    const x = event.clientX - place.current.getBoundingClientRect().left - AXIS;
    setAt(Math.max(0, Math.min(shown.length - 1, Math.floor(x / step))));
  };
  const keys = (event) => {
    const moves = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: shown.length - 1 };
    if (event.key in moves) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(shown.length - 1, moves[event.key])));
    } else if (event.key === "Enter") open();
  };
  const open = () => round.flow && go(link("flow", { round: round.round }));

  return html`<${Card}
    title="Rounds"
    sub="time by stage"
    end=${html`<${StackLegend} names=${STAGES} />`}
  >
    ${
      rounds.length === 0
        ? html`<${Empty} title="No rounds yet">A round runs when pods wait.<//>`
        : html`<div
            class="strip ${round.flow ? "leads" : ""}"
            ref=${place}
            tabindex="0"
            role="slider"
            aria-label="Rounds; Enter shows the flow of one"
            aria-valuemin=${shown[0].round}
            aria-valuemax=${shown[shown.length - 1].round}
            aria-valuenow=${round.round}
            aria-valuetext=${said(round)}
            onMouseMove=${near}
            onMouseLeave=${() => setAt(null)}
            onKeyDown=${keys}
            onClick=${open}
          >
            <svg width=${width} height=${HEIGHT} aria-hidden="true">
              ${[0, 0.5, 1].map((part) => {
                const y = HEIGHT - FOOT - part * (HEIGHT - FOOT - 8);
                return html`<g key=${part}>
                  <line class="grid" x1=${AXIS} x2=${width} y1=${y} y2=${y} />
                  <text class="tick" x=${AXIS - 6} y=${y + 4} text-anchor="end">${duration(part * most)}</text>
                </g>`;
              })}
              ${shown.map(
                (each, i) =>
                  html`
                    <${RoundBar}
                      key=${each.round}
                      round=${each}
                      x=${AXIS + i * step}
                      width=${step - 2}
                      scale=${scale}
                      chosen=${i === chosen && at !== null}
                    />`,
              )}
            </svg>
          </div>
          <${RoundLine} round=${round} />`
    }
  <//>`;
}

function RoundLine({ round }) {
  return html`<p class="round-line">
    ${
      round.flow
        ? html`<a href=${link("flow", { round: round.round })}>Round ${round.round}</a>`
        : html`<span>Round ${round.round}</span>`
    }
    <span>${duration(total(round))}</span>
    <span>${count(round.placed)} of ${many(round.tasks, "pod")} placed</span>
    <span>${many(round.classes, "class", "classes")}, ${count(round.arcs)} arcs</span>
    ${round.evictions > 0 && html`<span>${many(round.evictions, "eviction")}</span>`}
    <span class=${round.certified ? "good-text" : "warn-text"}>
      ${round.certified ? "❙" : "◆"} ${proof(round)}
    </span>
    ${!round.flow && html`<span class="muted">its flow is not kept</span>`}
  </p>`;
}
