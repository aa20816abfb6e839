// The table of decisions, the latest first; one that is chosen is told as the journal has it.

import { Roving, rowAfter } from "./keys.js";
import { cell, heads, listed, number, openDialog, percent, plain, time, write } from "./texts.js";

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
const CELLS = { reason: "reason", why: "wide" };
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
      // The oldest row gets the latest decision.
      const place = body.rows.length < SHOWN ? this.made() : body.rows[SHOWN - 1];
      this.fill(place, row);
      body.prepend(place);
    }
    this.roving.refresh();
  }

  made() {
    const row = document.createElement("tr");
    row.tabIndex = -1;
    row.append(...COLUMNS.map(([title, kind]) => cell("", CELLS[title] ?? kind)));
    return row;
  }

  fill(row, figures) {
    row.dataset.number = figures.micro_batch_id;
    row.className = figures.work_share < 1 ? "shed" : "";
    const texts = [
      time(figures.started_at_seconds),
      figures.micro_batch_id,
      figures.reason,
      figures.explanation,
      number(figures.offered_rows),
      percent(figures.work_share),
      `${number(figures.expected_seconds)} s`,
      `${number(figures.processing_seconds)} s`,
      `${number(figures.delay_seconds)} s`,
      figures.gaps || "",
    ];
    texts.forEach((text, place) => write(row.cells[place], plain(text)));
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
