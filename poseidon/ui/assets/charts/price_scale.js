// The legend of the scale of colours.

import { useStore } from "../data/store.js";
import { theme } from "../data/theme.js";
import { html, useEffect, useRef } from "../vendor/preact.js";
import { rampOf } from "./colour.js";

export function ScaleLegend({ label, low, high }) {
  const strip = useRef(null);
  const colours = useStore(theme);
  useEffect(() => {
    const pen = strip.current.getContext("2d");
    rampOf(colours).forEach((colour, i, all) => {
      pen.fillStyle = colour;
      pen.fillRect(
        (i * strip.current.width) / all.length,
        0,
        strip.current.width / all.length + 1,
        strip.current.height,
      );
    });
  }, [colours]);
  return html`<span class="scale">
    <span>${label}
    </span>
      <span>${low}
    </span>
      <canvas ref=${strip} width="128" height="8" aria-hidden="true">
    </canvas>
      <span>${high}
    </span>
  </span>`;
}
