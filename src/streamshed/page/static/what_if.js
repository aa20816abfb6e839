// What if more came, or another policy chose? The planner answers for a load that lasts, and the simulator for one
// that comes and goes, by what the checkpoint knows of costs.

import { Course } from "./course.js";
import { ask, number, percent, seconds, tableOf } from "./texts.js";

const SHOWN = 100;
const WAIT_MILLISECONDS = 120;

// The slider is logarithmic: from a tenth to fifty times the load.
const loadOf = (position) => Number((10 ** Number(position)).toPrecision(2));

const counted = (count, one = "is", more = "are") => (count === 1 ? `1 query ${one}` : `${number(count)} queries ${more}`);

export class WhatIf {
  constructor(section) {
    const part = (name) => section.querySelector(`[data-part="${name}"]`);
    this.parts = Object.fromEntries(
      ["load", "shown", "policy", "waiting", "sentence", "tables", "course", "charts"].map((name) => [name, part(name)]),
    );
    this.course = new Course(this.parts.course, this.parts.charts);
    this.waiting = null;
    this.asked = null;
    this.factor = 1;
    for (const control of [this.parts.load, this.parts.policy]) control.addEventListener("input", () => this.askSoon());
  }

  begin(policies, factor) {
    this.factor = factor;
    this.parts.policy.replaceChildren(
      new Option("that of the run", ""),
      ...policies.map((name) => new Option(name, name)),
    );
  }

  set(load) {
    this.parts.load.value = Math.log10(load);
    this.showLoad();
  }

  showLoad() {
    this.parts.shown.textContent = `${loadOf(this.parts.load.value)} ×`;
  }

  // A link asks by itself: its question is not asked again.
  opened() {
    if (this.parts.waiting.hidden) this.askSoon();
  }

  askSoon() {
    this.showLoad();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.ask(), WAIT_MILLISECONDS);
  }

  async ask() {
    this.asked?.abort();
    const asked = (this.asked = new AbortController());
    this.parts.waiting.hidden = false;
    const query = new URLSearchParams({ load: loadOf(this.parts.load.value), policy: this.parts.policy.value });
    try {
      this.show(await ask(`what-if.json?${query}`, { signal: asked.signal }));
    } catch (error) {
      if (asked.signal.aborted) return;
      this.parts.waiting.hidden = true;
      this.parts.sentence.textContent = `No answer: ${error.message}`;
      this.parts.tables.replaceChildren();
      this.course.forget();
    }
  }

  show(plan) {
    this.parts.waiting.hidden = true;
    const shed = plan.queries.filter((query) => query.effective_sampling_rate < 1 || (query.kept_share ?? 1) < 1);
    this.parts.sentence.textContent = [this.load(plan), this.delay(plan), this.losses(shed), this.workers(plan)].join(
      " ",
    );
    this.course.show(plan.course);
    const error = (query) => (query.is_joined_in_part ? "unknown" : percent(this.factor * query.expected_error));
    const dear = [...shed].sort((a, b) => b.expected_error - a.expected_error).slice(0, SHOWN);
    const queries = tableOf(
      [
        ["query", ""],
        ["rows used", "number"],
        ["windows kept", "number"],
        ["expected ±", "number"],
        ["goal", ""],
        ["bound by", "wide"],
      ],
      dear.map((query) => [
        query.query,
        percent(query.effective_sampling_rate),
        percent(query.kept_share),
        error(query),
        query.goal ? `${query.goal}: ${query.meets_goal ? "kept" : "missed"}` : "",
        query.bound_by ?? "",
      ]),
    );
    const samplers = tableOf(
      [
        ["sampler before", "wide"],
        ["keeps", "number"],
      ],
      plan.samplers.slice(0, SHOWN).map((sampler) => [sampler.address, percent(sampler.sampling_rate)]),
    );
    this.parts.tables.replaceChildren(...(shed.length ? [queries, samplers] : []));
  }

  load(plan) {
    const fitting = plan.sustained_rows_per_second;
    const fits = fitting > 0 ? `${number(fitting)} rows/s fit.` : "no load fits: a longer trigger?";
    return `${number(plan.rows_per_second)} rows/s with the policy ${plan.policy}; ${fits}`;
  }

  delay(plan) {
    const took = `A micro-batch takes ${seconds(plan.expected_seconds)}, with all rows ${seconds(plan.unshed_seconds)}.`;
    if (plan.delay_seconds === null) return `${took} It falls behind: not even shedding is enough.`;
    return `${took} Answers come ${seconds(plan.delay_seconds)} after their rows.`;
  }

  losses(shed) {
    if (!shed.length) return "Nothing is shed.";
    const sampled = shed.filter((query) => query.effective_sampling_rate < 1 && query.kept_share === null).length;
    const missed = shed.filter((query) => !query.meets_goal).length;
    const dropping = shed.filter((query) => (query.kept_share ?? 1) < 1).length;
    const more = shed.length > SHOWN ? ` The ${SHOWN} with the largest errors are listed.` : "";
    const parts = [
      sampled && `${counted(sampled)} sampled.`,
      dropping && `Windows of ${counted(dropping, "are")} dropped.`,
      missed && `${counted(missed, "misses its goal", "miss their goals")}.`,
    ];
    return parts.filter(Boolean).join(" ") + more;
  }

  workers(plan) {
    if (plan.workers === null) return "No number of workers keeps all of it.";
    return `All of it is kept with ${plan.workers} worker${plan.workers === 1 ? "" : "s"} like those that were measured.`;
  }
}
