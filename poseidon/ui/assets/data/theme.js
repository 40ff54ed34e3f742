// Dark or light: the system's choice until the switch is used. Charts on canvases follow `theme` to be painted anew.

import { store } from "./store.js";

const KEY = "poseidon-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage may be forbidden
  }
}

function wanted() {
  const choice = remembered();
  return choice === "dark" || choice === "light" ? choice : dark.matches ? "dark" : "light";
}

export const theme = store(wanted());

function show() {
  document.documentElement.dataset.theme = theme.get();
}

export function switchTheme() {
  const next = theme.get() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // It then holds until the page is left.
  }
  theme.set(next);
}

theme.follow(show);
dark.addEventListener("change", () => theme.set(wanted()));
show();

/** The value of a colour of the style sheet, for canvases. */
export function tone(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
