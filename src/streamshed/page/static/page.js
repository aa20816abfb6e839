// The page: asks for all that is known, then follows what is new. All texts go in as text, never as HTML.

import { Answers } from "./answers.js";
import { Changes } from "./changes.js";
import { Charts } from "./charts.js";
import { Decisions } from "./decisions.js";
import { NetworkView } from "./network.js";
import { NodeView } from "./node.js";
import { Queries } from "./queries.js";
import { ask } from "./texts.js";
import { WhatIf } from "./what_if.js";

const KEPT = 1000;
const COSTS_EVERY_MILLISECONDS = 15_000;
const element = (id) => document.getElementById(id);

const state = { figures: {}, latest: {}, headlines: {}, answered: {}, bound_factor: 1.96, network: null, clock: null };
const charts = new Charts(element("charts"));
const answers = new Answers(element("answers"));
const queries = new Queries(element("queries"), element("filter"), element("query-count"), choose);
const decisions = new Decisions(element("decisions"), element("decision"));
const networkView = new NetworkView(element("network"), chooseNode);
const nodeView = new NodeView(element("node"));
const whatIf = new WhatIf(element("what-if"));
const changes = new Changes(element("change"), state.bound_factor);
let isDue = false;

const queryNamed = (name) => state.network?.queries.find((query) => query.name === name) ?? { name };

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
  charts.show(figures, state.latency_goal_seconds);
  networkView.show(state.network, state.latest);
  queries.show(state.network, ofAllClocks(latest), state.answered, state.bound_factor);
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

// The table has the queries of all clocks: each of them is in the latest row of its own.
function ofAllClocks(latest) {
  const rows = Object.values(state.latest);
  if (rows.length < 2) return latest;
  const together = (name) => Object.assign({}, ...rows.map((row) => row[name] ?? {}));
  return {
    effective_sampling_rates: together("effective_sampling_rates"),
    expected_errors: together("expected_errors"),
    kept_shares: together("kept_shares"),
    missed_goals: rows.map((row) => row.missed_goals ?? "").join(" "),
  };
}

function drawSoon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(draw);
}

function choose(name) {
  queries.chosen = name;
  drawSoon();
  answers.open(queryNamed(name)).catch((error) => say(`cannot load answers: ${error.message}`));
}

function chooseNode(place) {
  if (place.kind === "query") choose(place.address);
  const clock = networkView.clockOf(place);
  const costs = networkView.costs.get(place.address);
  const share = state.latest[clock].samplers?.[place.address];
  nodeView.open(place, clock, { costs, share, held: networkView.held(place) }).catch((error) => say(error.message));
}

function closeAnswers() {
  queries.chosen = null;
  answers.close();
  drawSoon();
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
  Object.assign(state.answered, news.answered);
  state.latency_goal_seconds = news.latency_goal_seconds;
  if (news.network) state.network = news.network;
  const isGone = news.network && answers.query && !news.network.queries.some(({ name }) => name === answers.query.name);
  if (isGone) closeAnswers();
  for (const row of news.new) {
    const figures = (state.figures[row.clock] ??= []);
    if (figures.length && row.micro_batch_id <= figures.at(-1).micro_batch_id) continue;
    figures.push(row);
    if (figures.length > KEPT) figures.shift();
  }
  if (answers.query && answers.query.name in (news.answered ?? {})) answers.load().catch(() => {});
  showClocks();
  drawSoon();
  if (news.network) loadCosts();
}

async function loadCosts() {
  const nodes = await ask("nodes.json").catch(() => []);
  networkView.showCosts(new Map(nodes.map((node) => [node.address, node])));
}

async function load() {
  Object.assign(state, await ask("shown.json"));
  element("checkpoint").textContent = state.checkpoint;
  document.title = `streamshed: ${state.checkpoint.split("/").filter(Boolean).pop()}`;
  for (const control of document.querySelectorAll(".changing")) control.hidden = !state.is_changeable;
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
  draw();
  whatIf.begin(state.policies, state.bound_factor);
  changes.factor = state.bound_factor;
  // A link may open a query and ask what if.
  const asked = new URLSearchParams(location.search);
  if (asked.has("query")) choose(asked.get("query"));
  if (asked.has("load")) {
    whatIf.set(Number(asked.get("load")));
    element("what-if").open = true;
  }
  await loadCosts();
  // To print it, or to keep a picture: what there is, and no more.
  if (asked.has("still")) return say("as it was when this was loaded");
  setInterval(() => document.hidden || loadCosts(), COSTS_EVERY_MILLISECONDS);
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
element("what-if").addEventListener("toggle", (event) => event.target.open && whatIf.askSoon());
element("add").addEventListener("click", () => changes.open("add"));
element("change-chosen").addEventListener("click", () => changes.open("change", queryNamed(answers.query.name)));
element("remove-chosen").addEventListener("click", () => changes.open("remove", queryNamed(answers.query.name)));
element("close-answers").addEventListener("click", closeAnswers);

const SHORTCUTS = {
  "/": () => element("filter").focus(),
  w: () => {
    element("what-if").open = true;
    element("what-if").querySelector("input").focus();
  },
  a: () => state.is_changeable && changes.open("add"),
};
document.addEventListener("keydown", (event) => {
  const isTyping = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement.tagName);
  const isOpen = document.querySelector("dialog[open]") !== null;
  if (isTyping || isOpen || event.ctrlKey || event.metaKey || event.altKey || !(event.key in SHORTCUTS)) return;
  event.preventDefault();
  SHORTCUTS[event.key]();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  charts.forget();
  answers.forget();
  if (answers.query) answers.draw();
  drawSoon();
});

follow().catch((error) => say(`cannot load: ${error.message}`));
