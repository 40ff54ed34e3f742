// Numbers, times and names as text.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const NONE = "–";

export function count(n) {
  return n === null || n === undefined ? NONE : whole.format(n);
}

export function short(n) {
  return n === null || n === undefined ? NONE : Math.abs(n) < 10000 ? count(n) : compact.format(n);
}

/** The gap of a round: the share of its cost that could at most be saved. */
export function gap(share) {
  return `${(100 * share).toFixed(2)} %`;
}

/** Points: costs and prices. */
export function points(n) {
  if (n === null || n === undefined) return NONE;
  return Math.abs(n) >= 1000 || n === 0 ? whole.format(n) : n.toFixed(1);
}

export function rate(n) {
  if (n === null || n === undefined) return NONE;
  return n === 0 || n >= 100 ? whole.format(n) : n >= 10 ? n.toFixed(1) : n.toFixed(2);
}

/** A duration, in the unit in which people would say it. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  const s = Math.abs(seconds);
  if (s === 0) return "0 s";
  if (s < 0.0005) return `${Math.round(s * 1e6)} µs`;
  if (s < 0.0995) return `${(s * 1000).toPrecision(2)} ms`;
  if (s < 0.9995) return `${Math.round(s * 1000)} ms`;
  if (s < 99.5) return s < 9.95 ? `${s.toFixed(1)} s` : `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 129600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}

export function age(at, now) {
  if (at === null || at === undefined) return NONE;
  return duration(Math.max(0, now - at));
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

const SEPARATOR = ", ";

/** The time of day; with the date if that is not today's. */
export function time(at) {
  if (!at) return NONE;
  const date = new Date(at * 1000);
  return (date.toDateString() === new Date().toDateString() ? clock : day).format(date);
}

const minutes = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/** The time of day on an axis. */
export function moment(at, withSeconds) {
  return (withSeconds ? clock : minutes).format(new Date(at * 1000));
}

export function perMille(n) {
  return n === null || n === undefined ? NONE : `${Math.round(n / 10)} %`;
}

/**
 * A text that fits: of several reasons the first ones, and how many more there are; of a name its beginning and its end.
 * Whole texts stand in titles and panels.
 */
export function cut(text, most) {
  const whole = String(text);
  if (whole.length <= most) return whole;
  const parts = whole.split(SEPARATOR);
  let shown = "";
  for (
    let kept = 1, length = parts[0].length;
    kept < parts.length;
    length += SEPARATOR.length + parts[kept].length, kept++
  ) {
    const more = ` and ${parts.length - kept} more`;
    if (length + more.length > most) break;
    shown = whole.slice(0, length) + more;
  }
  if (shown) return shown;
  const tail = Math.floor((most - 1) / 3);
  return `${whole.slice(0, most - 1 - tail)}…${tail ? whole.slice(-tail) : ""}`;
}

/** One or many: `many(1, "pod")` is "1 pod". */
export function many(n, noun, plural = `${noun}s`) {
  return `${count(n)} ${n === 1 ? noun : plural}`;
}
