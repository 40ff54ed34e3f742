// The frame of the page: header, navigation, banner, and the view that the hash names. A view's modules are loaded when it is
// first shown.

import { announce } from "./data/announce.js";
import { get, isFile } from "./data/api.js";
import { connection, open, start, versions } from "./data/live.js";
import { own } from "./data/own.js";
import { link, route } from "./data/route.js";
import { useStore } from "./data/store.js";
import { many, time } from "./data/text.js";
import { switchTheme, theme } from "./data/theme.js";
import { html, render, useEffect, useErrorBoundary, useRef, useState } from "./vendor/preact.js";
import { Card, Empty, Failure, Loading, Unavailable } from "./views/parts.js";
import { Search } from "./views/search.js";

// name in the hash: title, module, capability without which it is empty
/** @type {Record<string, [title: string, load: () => Promise<any>, capability: string | null]>} */
const VIEWS = {
  overview: ["Overview", () => import("./views/overview.js"), null],
  flow: ["Flow", () => import("./views/flow.js"), "flow"],
  cluster: ["Cluster", () => import("./views/cluster.js"), "cluster"],
  pending: ["Pending", () => import("./views/pending.js"), "pending"],
  pods: ["Pods", () => import("./views/pods.js"), "explain"],
  groups: ["Groups", () => import("./views/groups.js"), "groups"],
  queues: ["Queues", () => import("./views/queues.js"), "queues"],
  report: ["Report", () => import("./views/report.js"), "report"],
};

/** The views that stand in the navigation: of a file the one that it holds, else all but reports, and queues if they are read. */
function listed(session) {
  return Object.entries(VIEWS).filter(([name, [, , capability]]) =>
    isFile || name === "queues"
      ? capability !== null && session?.capabilities[capability]
      : name !== "report",
  );
}

function Mark() {
  return html`<svg viewBox="0 0 24 24" aria-hidden="true" fill="none">
    <path d="M2 6c9 0 10 6 20 6" stroke="var(--series-1)" stroke-width="5" />
    <path d="M2 18c9 0 10-6 20-6" stroke="var(--series-2)" stroke-width="3" />
  </svg>`;
}

function ThemeSwitch() {
  const now = useStore(theme);
  const label = now === "dark" ? "Switch to light colours" : "Switch to dark colours";
  return html`<button class="button quiet icon" aria-label=${label} title=${label} onClick=${switchTheme}>
    <svg viewBox="0 0 16 16" aria-hidden="true" fill="currentColor">
      <path d="M8 1.5a6.5 6.5 0 1 0 0 13zM8 1.5a6.5 6.5 0 1 1 0 13v-1.4a5.1 5.1 0 0 0 0-10.2z" />
    </svg>
  </button>`;
}

function Header({ session, view }) {
  const { state } = useStore(connection);
  const nav = useRef(null);
  const here = useRef(location.hash).current;
  useEffect(() => {
    const current = nav.current.querySelector("[aria-current]");
    if (current) nav.current.scrollLeft = current.offsetLeft - 60; // in narrow windows
  }, [view]);
  const words = {
    connected: ["good", "Live"],
    connecting: ["", "Connecting"],
    broken: ["warn", "Disconnected"],
  };
  let [tone, word] =
    session?.source === "live" || !session || state !== "connected" ? words[state] : ["", "Saved"];
  if (state === "connected" && gone(session).length > 0) [tone, word] = ["bad", "Not all programs answer"];
  return html`<header class="header">
    <a class="brand" href=${isFile ? here : link("overview")}>
      <${Mark} /><span>Poseidon</span> ${session?.title && html`<span class="cluster name">${session.title}</span>`}
    </a>
    <nav class="nav" aria-label="Views" ref=${nav}>
      <ul>
        ${listed(session).map(
          ([name, [title]]) => html`<li key=${name}>
            <a href=${isFile ? here : link(name)} aria-current=${name === view ? "page" : undefined}>${isFile && name === "pods" ? "Pod" : title}</a>
          </li>`,
        )}
      </ul>
    </nav>
    <div class="header-end">
      ${!isFile && html`<${Search} />`}
      <span class="status" title=${word}><span class="dot ${tone}"></span><span class="word">${word}</span></span>
      <${ThemeSwitch} />
    </div>
  </header>`;
}

/** One quiet line while there is no stream; what is shown stays. Short breaks are not told. */
function Banner() {
  const { state, retryAt } = useStore(connection);
  const [told, setTold] = useState(false);
  useEffect(() => {
    if (state === "connected") {
      if (told) announce("Connected again");
      setTold(false);
      return undefined;
    }
    const timer = setTimeout(() => {
      setTold(true);
      announce("Disconnected, retrying. What is shown may be old.");
    }, 1500);
    return () => clearTimeout(timer);
  }, [state === "connected"]);
  if (!told || state === "connected") return null;
  const seconds = Math.max(1, Math.round((retryAt - Date.now()) / 1000));
  return html`<div class="banner">
    <span>Disconnected, retrying${state === "broken" ? ` in ${seconds} s` : ""}. What is shown may be old.</span>
    <button class="link-button" onClick=${open}>Retry now</button>
  </div>`;
}

/** What has gone of the programs that are looked at, a line each. */
function gone(session) {
  const { solver, bridge } = session ?? {};
  const lines = [];
  if (solver?.since && solver.state === "unreachable")
    lines.push(
      `The solver has not answered since ${time(solver.since)} (${solver.target}). No pod is placed until it answers; the rounds and prices shown are older.`,
    );
  if (solver?.state === "refused") lines.push(`The solver refuses the bridge since ${time(solver.since)}.`);
  if (bridge?.answers === false)
    lines.push(
      `The bridge has served no metrics since ${time(bridge.since)}. While it is down, no pod is bound.`,
    );
  return lines;
}

/** Stands at the top of every view while a program is gone. */
function Gone({ session }) {
  const lines = gone(session);
  const text = lines.join(" ");
  useEffect(() => announce(text), [text]);
  return lines.map((line) => html`<div class="banner gone" key=${line}><span>${line}</span></div>`);
}

/** The module of a view, once it is there. */
function useView(name) {
  const [loaded, setLoaded] = useState({});
  const { state } = useStore(connection);
  const retry = loaded.error ? state : "";
  useEffect(() => {
    const known = own(VIEWS, name);
    if (!known) return undefined;
    let wanted = true;
    known[1]().then(
      (module) => wanted && setLoaded({ name, View: module.View }),
      () =>
        wanted &&
        setLoaded({
          name,
          error: new Error("This view could not be loaded; the page tries again when the server answers."),
        }),
    );
    return () => {
      wanted = false;
    };
  }, [name, retry]);
  return loaded.name === name ? loaded : {};
}

function Content({ session, where }) {
  const { View, error } = useView(where.view);
  const [broken, mend] = useErrorBoundary();
  useEffect(() => {
    if (broken) mend();
  }, [where]);
  const known = own(VIEWS, where.view);
  if (!known) {
    return html`
      <${Card}><${Empty} title="There is no such view"><a href=${link("overview")}>To the overview</a><//>
    <//>`;
  }
  if (broken)
    return html`<${Failure} error=${{ message: `This view has failed: ${broken.message ?? broken}` }} />`;
  if (error) return html`<${Failure} error=${error} />`;
  if (!View || !session) return html`<${Loading} tall=${420} />`;
  const [title, , capability] = known;
  if (capability && !session.capabilities[capability]) {
    return html`<h1 class="unseen">${title}</h1>
      <${Unavailable} what=${title} session=${session} />`;
  }
  return html`<${View} session=${session} parts=${where.parts} query=${where.query} />`;
}

/** What the source has to say of itself; more than two lines are folded. */
function Warnings({ texts }) {
  const list = html`<ul>${texts.map((text) => html`<li key=${text} class="name">${text}</li>`)}</ul>`;
  if (texts.length <= 2) return html`<div class="card warning">${list}</div>`;
  return html`
    <details class="card warning"><summary>${many(texts.length, "note")} about what is shown</summary>${list}
  </details>`;
}

/** What this is, and whether its programs are there; of files it may change while they are worked on. */
function useSession() {
  const [state, setState] = useState({ session: null, error: null });
  const { state: stream } = useStore(connection);
  const vector = useStore(versions);
  const live = state.session?.source === "live";
  const step = live ? vector.session : state.session && JSON.stringify(vector);
  useEffect(() => {
    const waiting = new AbortController();
    get("session", waiting.signal).then(
      (session) => setState({ session, error: null }),
      (error) => error.name !== "AbortError" && setState((old) => ({ ...old, error })),
    );
    return () => waiting.abort();
  }, [stream === "connected", step]);
  return state;
}

function App() {
  const where = useStore(route);
  const { session, error } = useSession();
  const main = useRef(null);
  const first = useRef(true);
  const title = own(VIEWS, where.view)?.[0] ?? "Not found";
  const page = [where.view, ...where.parts].join("/");
  useEffect(() => {
    document.title = `${where.parts.length ? `${where.parts.join("/")} · ` : ""}${title} · Poseidon`.slice(
      0,
      200,
    );
    if (!first.current) {
      main.current.focus({ preventScroll: true });
      scrollTo(0, 0);
      announce(title);
    }
    first.current = false;
  }, [page]);
  return html`<${Header} session=${session} view=${where.view} />
    <${Banner} />
    <${Gone} session=${session} />
    <main class="main" id="content" tabindex="-1" ref=${main}>
      ${session?.warnings.length > 0 && html`<${Warnings} texts=${session.warnings} />`}
      ${error && !session && html`<${Failure} error=${error} />`}
      <${Content} key=${where.view} session=${session} where=${where} />
    </main>`;
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("content").focus();
});
start();
// The other views, once there is time: so that they can be opened while the server is away.
addEventListener("load", () =>
  setTimeout(() => {
    for (const [, load] of Object.values(VIEWS)) load().catch(() => {});
  }, 2000),
);
render(html`<${App} />`, document.getElementById("app"));
