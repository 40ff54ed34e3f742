// The status of a group, in the colour of what it means.

import { own } from "../data/own.js";
import { html } from "../vendor/preact.js";
import { Badge } from "./parts.js";

const TONES = {
  Running: "good",
  Placed: "good",
  Scheduled: "good",
  Finished: "good",
  Failed: "bad",
  Waiting: "warn",
  Pending: "warn",
  Scheduling: "accent",
};

export function Status({ status }) {
  return status ? html`<${Badge} tone=${own(TONES, status) ?? ""}>${status}<//>` : null;
}
