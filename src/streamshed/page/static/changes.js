// Queries are added, removed and changed: each change is explained first, then made.

import { ask, number, percent, seconds, tableOf } from "./texts.js";

const GOALS = ["weight", "priority", "mode", "max_error", "max_gap", "gaps_by", "latency"];
const NUMBERS = new Set(["weight", "priority"]);

const post = (address, change) =>
  ask(address, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Streamshed-Page": "1" },
    body: JSON.stringify(change),
  });

function paragraph(text) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

export class Changes {
  constructor(dialog, factor) {
    this.dialog = dialog;
    this.factor = factor;
    const part = (name) => dialog.querySelector(`[data-part="${name}"]`);
    this.parts = Object.fromEntries(
      ["fragment", "goals", "explanation", "explain", "make"].map((name) => [name, part(name)]),
    );
    this.change = null;
    this.parts.explain.addEventListener("click", () => this.explain());
    this.parts.make.addEventListener("click", () => this.make());
    // What was explained is what is made: another change has to be explained anew.
    dialog.addEventListener("input", () => this.forget());
  }

  open(action, query = null) {
    this.action = action;
    this.query = query;
    this.dialog.querySelector("h3").textContent =
      action === "add" ? "Add queries" : `${action === "remove" ? "Remove" : "Change"} ${query.name}`;
    this.parts.fragment.parentElement.hidden = action !== "add";
    this.parts.goals.hidden = action !== "change";
    for (const goal of GOALS) {
      const input = this.input(goal);
      input.value = input.defaultValue = action === "change" ? (query[goal] ?? "") : "";
    }
    this.forget();
    this.dialog.showModal();
    if (action === "remove") this.explain();
  }

  input(goal) {
    return this.parts.goals.querySelector(`[name="${goal}"]`);
  }

  forget() {
    this.change = null;
    this.parts.make.disabled = true;
    this.parts.explanation.replaceChildren();
  }

  // What is written in the dialog now; a goal that was emptied has its default again.
  written() {
    if (this.action === "add") return { action: "add", fragment: this.parts.fragment.value };
    if (this.action === "remove") return { action: "remove", query: this.query.name };
    const inputs = GOALS.map((goal) => [goal, this.input(goal)]).filter(
      ([, input]) => input.value !== input.defaultValue,
    );
    const value = (goal, text) =>
      text === "" ? null : NUMBERS.has(goal) ? Number(text) : /^\d+$/.test(text) ? Number(text) : text;
    return {
      action: "change",
      query: this.query.name,
      goals: Object.fromEntries(inputs.map(([goal, input]) => [goal, value(goal, input.value)])),
    };
  }

  async explain() {
    this.forget();
    const change = this.written();
    this.parts.explanation.replaceChildren(paragraph("planning …"));
    try {
      const told = await post("changes/explain", change);
      this.parts.explanation.replaceChildren(...this.told(told));
      this.change = change;
      this.parts.make.disabled = false;
    } catch (error) {
      this.parts.explanation.replaceChildren(paragraph(`It cannot be made: ${error.message}`));
    }
  }

  told(told) {
    const costs = `At ${number(told.rows_per_second)} rows/s a micro-batch with all rows would take ${seconds(told.seconds_after)} instead of ${seconds(told.seconds_before)}; ${seconds(told.budget_seconds)} fit.`;
    const error = (outlook) => (outlook ? percent(this.factor * outlook.expected_error) : "–");
    const rows = (outlook) => (outlook ? percent(outlook.kept_share ?? outlook.effective_sampling_rate) : "–");
    const goal = (outlook) => (outlook?.goal ? `${outlook.goal}: ${outlook.meets_goal ? "kept" : "missed"}` : "");
    const table = (title, compared) =>
      tableOf(
        [
          [title, ""],
          ["kept before", "number"],
          ["kept after", "number"],
          ["expected ± before", "number"],
          ["after", "number"],
          ["goal", ""],
        ],
        compared.map(({ query, before, after }) => [
          query,
          rows(before),
          rows(after),
          error(before),
          error(after),
          goal(after ?? before),
        ]),
      );
    const payers = told.payers.length ? table("who pays", told.payers) : paragraph("No other query pays for it.");
    return [paragraph(costs), table("what changes", told.changed), payers];
  }

  async make() {
    const change = this.change;
    this.parts.make.disabled = true;
    this.parts.explanation.append(paragraph("waiting for the run …"));
    try {
      const done = await post("changes", change);
      const windows = Object.entries(done.first_windows).map(
        ([name, start]) => `${name}: ${start ? `its first whole window begins ${start}` : "all its windows are whole"}`,
      );
      const said = ["Done, with a pause of", seconds(done.pause_seconds) + ".", ...windows].join(" ");
      this.parts.explanation.replaceChildren(paragraph(said));
    } catch (error) {
      this.parts.explanation.replaceChildren(paragraph(`Not done: ${error.message}`));
    }
    this.change = null;
  }
}
