// The page: asks for all that is known, then follows what is new. All texts go in as text, never as HTML.

import { Charts } from "./charts.js";
import { drawNetwork } from "./network.js";
import { Decisions, Queries } from "./tables.js";

const KEPT = 1000;
const element = (id) => document.getElementById(id);

const state = { figures: {}, latest: {}, headlines: {}, network: null, clock: null };
const charts = new Charts(element("charts"));
const queries = new Queries(element("queries"), element("filter"), element("query-count"));
const decisions = new Decisions(element("decisions"), element("decision"));
let isDue = false;

function draw() {
  isDue = false;
  const clock = state.clock;
  const figures = state.figures[clock] ?? [];
  const latest = state.latest[clock];
  if (!latest) {
    element("headline").textContent = "No micro-batch has finished yet.";
    return;
  }
  const headline = state.headlines[clock];
  element("headline").textContent = headline.sentence;
  element("headline").className = headline.state;
  charts.show(figures);
  drawNetwork(element("network"), state.network, state.latest);
  queries.show(state.network, latest);
  decisions.show(clock, figures);
  const hasWorkers = latest.workers_running !== null && latest.workers_running !== undefined;
  element("workers-section").hidden = !hasWorkers;
  if (hasWorkers) {
    element("workers").textContent =
      `${latest.workers_running} running, ${latest.workers_starting} starting, ${latest.workers_wanted} wanted` +
      ` (${latest.scaling_reason}); the busiest is ${latest.skew.toFixed(2)} times as busy as the average.` +
      ` ${latest.scaling_explanation ?? ""}`;
  }
}

function drawSoon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(draw);
}

function showClocks() {
  const clocks = Object.keys(state.figures);
  const chosen = element("clock");
  if (chosen.options.length !== clocks.length) {
    chosen.replaceChildren(...clocks.map((name) => new Option(name, name)));
    chosen.hidden = clocks.length < 2;
  }
  state.clock = state.clock ?? clocks[0] ?? null;
}

function take(news) {
  Object.assign(state.latest, news.latest);
  Object.assign(state.headlines, news.headlines);
  for (const row of news.new) {
    const figures = (state.figures[row.clock] ??= []);
    if (figures.length && row.micro_batch_id <= figures.at(-1).micro_batch_id) continue;
    figures.push(row);
    if (figures.length > KEPT) figures.shift();
  }
  showClocks();
  drawSoon();
}

async function load() {
  const answer = await fetch("shown.json");
  Object.assign(state, await answer.json());
  element("checkpoint").textContent = state.checkpoint;
  document.title = `streamshed: ${state.checkpoint.split("/").filter(Boolean).pop()}`;
  showClocks();
  drawSoon();
}

let connection = "loading";

function say(text) {
  connection = text;
  showAge();
}

// A run that has ended, or hangs, shows in how long ago its latest micro-batch was.
function showAge() {
  const latest = state.latest[state.clock];
  const age = latest ? Date.now() / 1000 - latest.started_at_seconds - latest.processing_seconds : 0;
  const isOld = latest && age > 10 * latest.trigger_interval_seconds;
  const time = latest && new Date(1000 * latest.started_at_seconds).toLocaleString();
  element("connection").textContent = isOld ? `nothing new since ${time}: the run has ended, or hangs` : connection;
}
setInterval(showAge, 2000);

async function follow() {
  await load();
  // To print it, or to keep a picture: what there is, and no more.
  if (new URLSearchParams(location.search).has("still")) {
    draw();
    return say("as it was when this was loaded");
  }
  const events = new EventSource("events");
  events.onopen = () => say("live");
  events.onmessage = (event) => take(JSON.parse(event.data));
  // The browser connects again by itself; what was missed meanwhile is asked for.
  events.onerror = () => {
    say("no connection, trying again");
    setTimeout(() => load().catch(() => {}), 2000);
  };
}

element("clock").addEventListener("change", (event) => {
  state.clock = event.target.value;
  drawSoon();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !["INPUT", "SELECT"].includes(document.activeElement.tagName)) {
    event.preventDefault();
    element("filter").focus();
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  charts.forget();
  drawSoon();
});

follow().catch((error) => say(`cannot load: ${error}`));
