// Tells screen readers of rare changes, politely, through one live region.

let region = null;

export function announce(text) {
  if (region === null) region = document.getElementById("announcements");
  if (region) region.textContent = text;
}
