// The table of decisions, the latest first; one that is chosen is told as the journal has it.

import { Roving, rowAfter } from "./keys.js";
import { cell, heads, listed, number, openDialog, percent, time } from "./texts.js";

const COLUMNS = [
  ["time", ""],
  ["micro-batch", "number"],
  ["reason", ""],
  ["why", ""],
  ["rows", "number"],
  ["work done", "number"],
  ["expected", "number"],
  ["took", "number"],
  ["delay", "number"],
  ["gaps", "number"],
];
const SHOWN = 200;

function told(value) {
  if (typeof value === "number") return Number.isInteger(value) ? value.toLocaleString("en") : number(value, 4);
  if (typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, part]) => `${name}: ${told(part)}`)
    .join("\n");
}

export class Decisions {
  constructor(table, dialog) {
    this.table = table;
    this.dialog = dialog;
    this.clock = null;
    this.newest = -1;
    heads(table, COLUMNS);
    this.roving = new Roving(table, "tbody tr", rowAfter, (row) => this.open(row.dataset.number));
  }

  show(clock, figures) {
    const body = this.table.tBodies[0];
    if (this.clock !== clock) {
      body.replaceChildren();
      this.clock = clock;
      this.newest = -1;
    }
    for (const row of figures.slice(-SHOWN)) {
      if (row.micro_batch_id <= this.newest) continue;
      this.newest = row.micro_batch_id;
      body.prepend(this.row(row));
      if (body.rows.length > SHOWN) body.deleteRow(-1);
    }
    this.roving.refresh();
  }

  row(figures) {
    const row = document.createElement("tr");
    row.tabIndex = -1;
    row.dataset.number = figures.micro_batch_id;
    row.className = figures.work_share < 1 ? "shed" : "";
    row.append(
      cell(time(figures.started_at_seconds)),
      cell(figures.micro_batch_id, "number"),
      cell(figures.reason, "reason"),
      cell(figures.explanation, "wide"),
      cell(number(figures.offered_rows), "number"),
      cell(percent(figures.work_share), "number"),
      cell(`${number(figures.expected_seconds)} s`, "number"),
      cell(`${number(figures.processing_seconds)} s`, "number"),
      cell(`${number(figures.delay_seconds)} s`, "number"),
      cell(figures.gaps || "", "number"),
    );
    return row;
  }

  async open(micro_batch_id) {
    const answer = await fetch(`decisions/${encodeURIComponent(this.clock)}/${micro_batch_id}`);
    if (!answer.ok) return;
    const whole = await answer.json();
    this.dialog.querySelector("h3").textContent = `Micro-batch ${micro_batch_id} of the clock ${this.clock}`;
    const isSaid = (value) => value !== null && value !== "" && (typeof value !== "object" || Object.keys(value).length);
    const said = Object.entries(whole).filter(([, value]) => isSaid(value));
    const text = (name, value) => (name === "started_at_seconds" ? time(value) : told(value));
    listed(this.dialog.querySelector("dl"), said.map(([name, value]) => [name, text(name, value)]));
    openDialog(this.dialog);
  }
}
