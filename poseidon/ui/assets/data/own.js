// Look-ups by names that others chose: "constructor" and "__proto__" are names like any other.

/** The value that a record itself has for a key, or undefined. */
export function own(record, key) {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
