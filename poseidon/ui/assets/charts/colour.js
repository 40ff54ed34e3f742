// The scale of colours for prices and shares: from blue to amber, straight through OKLab, so that equal steps look equally
// large; lightness alone tells them apart too, whatever colours the eye can see. The dear end stands out from the surface in both
// themes, the cheap end recedes.

// [lightness, chroma, hue in degrees]
const ENDS = {
  dark: [
    [0.4, 0.085, 258],
    [0.84, 0.115, 80],
  ],
  light: [
    [0.82, 0.06, 250],
    [0.45, 0.11, 50],
  ],
};
const STEPS = 64;

/** @param {number[]} colour */
function oklab([lightness, chroma, hue]) {
  const angle = (hue * Math.PI) / 180;
  return [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)];
}

function encoded(linear) {
  const clipped = Math.min(1, Math.max(0, linear));
  return Math.round(255 * (clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055));
}

/** sRGB of an OKLab colour (Björn Ottosson's matrices). @param {number[]} colour */
function srgb([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    encoded(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** Colours from one to another, as text for styles. @param {number[][]} ends */
function ramp([low, high]) {
  const [from, to] = [oklab(low), oklab(high)];
  return Array.from({ length: STEPS }, (_, i) => {
    const part = i / (STEPS - 1);
    return `rgb(${srgb(from.map((value, axis) => value + part * (to[axis] - value))).join(" ")})`;
  });
}

const RAMPS = { dark: ramp(ENDS.dark), light: ramp(ENDS.light) };

/** The colour of a part of the scale, 0 to 1; null when unknown. */
export function colourOf(part, theme) {
  if (part === null || part === undefined || Number.isNaN(part)) return null;
  return RAMPS[theme][Math.round(Math.min(1, Math.max(0, part)) * (STEPS - 1))];
}

export function rampOf(theme) {
  return RAMPS[theme];
}

/** The variable of the n-th of a few series; there are eight. */
export function seriesColour(n) {
  return `var(--series-${(n % 8) + 1})`;
}
