// The page: asks for all that is known, then follows what is new. All texts go in as text, never as HTML.

import { Answers } from "./answers.js";
import { Changes } from "./changes.js";
import { Charts } from "./charts.js";
import { Decisions } from "./decisions.js";
import { NetworkView } from "./network.js";
import { NodeView } from "./node.js";
import { Queries } from "./queries.js";
import { ask, openDialog, time, write } from "./texts.js";
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
  showAge();
  charts.show(figures, state.latency_goal_seconds);
  networkView.show(state.network, state.latest, queries.chosen, (query) => queries.matches(query));
  queries.show(state.network, ofAllClocks(latest), state.answered, state.bound_factor);
  decisions.show(clock, figures);
  const hasWorkers = latest.workers_running !== null && latest.workers_running !== undefined;
  element("workers-section").hidden = document.querySelector("[data-of=workers-section]").hidden = !hasWorkers;
  if (hasWorkers) {
    write(
      element("workers"),
      `${latest.workers_running} running, ${latest.workers_starting} starting, ${latest.workers_wanted} wanted` +
        ` (${latest.scaling_reason}); the busiest is ${latest.skew.toFixed(2)} times as busy as the average.` +
        ` ${latest.scaling_explanation ?? ""}`,
    );
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
  return answers.open(queryNamed(name)).catch((error) => say(`cannot load answers: ${error.message}`));
}

function chooseNode(place) {
  if (place.kind === "query") choose(place.address);
  const clock = networkView.clockOf(place);
  const costs = networkView.costs.get(place.key);
  const sampled = networkView.asker(place) ?? place;
  const share = networkView.samplers.get(sampled.key);
  const present = { costs, sampled, share, held: networkView.held(place) };
  nodeView.open(place, clock, present).catch((error) => say(error.message));
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
  state.bound_factor = whatIf.factor = changes.factor = news.bound_factor;
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
  networkView.showCosts(await ask("nodes.json").catch(() => []));
}

async function load() {
  Object.assign(state, await ask("shown.json"));
  element("checkpoint").textContent = state.checkpoint;
  document.title = `streamshed: ${state.checkpoint.split("/").filter(Boolean).pop()}`;
  for (const control of document.querySelectorAll(".changing, [data-of=changes]")) control.hidden = !state.is_changeable;
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
  const headline = state.headlines[state.clock];
  const end = latest && latest.started_at_seconds + latest.processing_seconds;
  const isOld = latest && Date.now() / 1000 - end > 10 * latest.trigger_interval_seconds;
  write(element("connection"), isOld && connection === "live" ? "waiting for more" : connection);
  if (!latest) return;
  const now = isOld ? `Ended or hangs: nothing since ${time(end)}. At last: ` : "";
  const { sentence } = headline;
  write(element("headline"), now + (isOld ? sentence[0].toLowerCase() + sentence.slice(1) : sentence));
  element("headline").className = isOld ? "old" : headline.state;
}

setInterval(showAge, 2000);

async function follow() {
  await load();
  draw();
  whatIf.begin(state.policies, state.bound_factor);
  changes.factor = state.bound_factor;
  // A link may open a query and ask what if.
  const asked = new URLSearchParams(location.search);
  if (asked.has("query")) await choose(asked.get("query"));
  if (asked.has("load")) {
    whatIf.set(Number(asked.get("load")));
    element("what-if").open = true;
    await whatIf.ask();
  }
  await loadCosts();
  // To print it, or to keep a picture: what there is, and no more.
  if (asked.has("still")) {
    say("as it was when this was loaded");
    draw();
    await networkView.laid;
    document.documentElement.dataset.shown = "all";
    return;
  }
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

const SHORTCUTS = {
  "/": () => element("filter").focus(),
  w: () => {
    element("what-if").open = true;
    element("what-if").querySelector("input").focus();
  },
  a: () => state.is_changeable && changes.open("add"),
  "?": () => openDialog(element("keys")),
};

element("clock").addEventListener("change", (event) => {
  state.clock = event.target.value;
  drawSoon();
});
element("what-if").addEventListener("toggle", (event) => event.target.open && whatIf.opened());
element("add").addEventListener("click", () => changes.open("add"));
element("change-chosen").addEventListener("click", () => changes.open("change", queryNamed(answers.query.name)));
element("remove-chosen").addEventListener("click", () => changes.open("remove", queryNamed(answers.query.name)));
element("close-answers").addEventListener("click", closeAnswers);
element("show-keys").addEventListener("click", SHORTCUTS["?"]);
element("filter").addEventListener("input", drawSoon);
element("path").addEventListener("change", drawSoon);

document.addEventListener("keydown", (event) => {
  const { tagName, type } = document.activeElement;
  const isTyping = type !== "checkbox" && ["INPUT", "SELECT", "TEXTAREA"].includes(tagName);
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
