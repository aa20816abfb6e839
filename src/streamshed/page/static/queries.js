// The table of queries. Only rows in sight are in the document; cells are changed where their texts differ.

import { Roving, stepped } from "./keys.js";
import { cell, exact, heads, number, percent, plain, time, write } from "./texts.js";

// An answer with its bounds, and of which group it is.
export function answerText(answer) {
  if (!answer) return "";
  if (answer.kind === "gap") return `gap: ${answer.reason}`;
  const form = answer.exact ? exact : (value) => number(value, 4);
  const value = answer.value === undefined ? plain(answer.value_text) : form(answer.value);
  const isBounded = Number.isFinite(answer.lower) && Number.isFinite(answer.upper);
  const width = isBounded ? ` ± ${number((answer.upper - answer.lower) / 2, 2)}` : " ± ?";
  const group = answer.key?.length ? ` (${answer.key.map((part) => part ?? "null").join(", ")})` : "";
  return `${answer.aggregate} ${value}${answer.exact ? "" : width}${group}`;
}

export const endText = (answer) =>
  answer?.window_end !== undefined ? time(answer.window_end) : plain(answer?.window_until);

const share = (figures) => (figures?.answers ? figures.exact_answers / figures.answers : undefined);

const AROUND = 10;
const ROW_HEIGHT = 29;

// What is lost of a query now, the worst last.
function stateOf(name, row) {
  return [
    (row.effective_sampling_rates?.[name] ?? 1) < 1 && "sampled",
    (row.kept_shares?.[name] ?? 1) < 1 && "windows dropped",
    row.missed?.has(name) && "goal missed",
  ].filter(Boolean);
}

// Of each column: title, kind of cell, value to sort by, and the value as text.
const COLUMNS = [
  ["query", "", (query) => query.name, plain],
  ["mode", "", (query) => query.mode, plain],
  ["now", "state", (query, row) => stateOf(query.name, row).at(-1) ?? "all kept", plain],
  ["latest answer", "", (query, row, figures) => figures?.last, answerText],
  ["window until", "", (query, row, figures) => figures?.last, endText],
  ["exact", "number", (query, row, figures) => share(figures), percent],
  ["gaps", "number", (query, row, figures) => figures?.gaps, (gaps) => plain(gaps || "")],
  ["rows used", "number", (query, row) => row.effective_sampling_rates?.[query.name], percent],
  ["windows kept", "number", (query, row) => row.kept_shares?.[query.name], percent],
  ["error ±", "number", (query, row, figures) => figures?.relative_error ?? undefined, percent],
  ["expected ±", "number", (query, row, figures, factor) => factor * row.expected_errors?.[query.name], percent],
  ["goal", "", (query) => query.max_error ?? "", plain],
];

function sortable(value) {
  if (value && typeof value === "object") return value.window_end ?? value.window_until ?? -1;
  return value === undefined || value === null || Number.isNaN(value) ? -1 : value;
}

export class Queries {
  constructor(table, filter, count, onChoose) {
    this.table = table;
    this.filter = filter;
    this.count = count;
    this.order = { column: 0, sign: 1 };
    this.rows = new Map();
    this.last = null;
    this.chosen = null;
    this.shown = [];
    table.parentElement.addEventListener("scroll", () => requestAnimationFrame(() => this.last && this.paint()), {
      passive: true,
    });
    heads(table, COLUMNS, (title, place) => this.sorter(title, place));
    this.roving = new Roving(
      table,
      "tbody tr",
      (row, key) => this.rowAfter(row, key),
      (row) => onChoose(row.dataset.name),
    );
  }

  matches(query) {
    return query.name.toLowerCase().includes(this.filter.value.toLowerCase());
  }

  sorter(title, column) {
    const button = document.createElement("button");
    button.textContent = title;
    button.addEventListener("click", () => {
      this.order = { column, sign: this.order.column === column ? -this.order.sign : 1 };
      this.show(...this.last);
    });
    return button;
  }

  show(network, latest, answered, factor) {
    latest = { ...latest, missed: new Set((latest.missed_goals ?? "").split(" ")) };
    this.last = [network, latest, answered, factor];
    const all = network?.queries ?? Object.keys(latest.effective_sampling_rates ?? {}).map((name) => ({ name }));
    const value = (query) => sortable(COLUMNS[this.order.column][2](query, latest, answered[query.name], factor));
    const shown = all
      .filter((query) => this.matches(query))
      .map((query) => [value(query), query])
      .sort(([a], [b]) => this.order.sign * (a < b ? -1 : a > b ? 1 : 0));
    this.shown = shown.map(([, query]) => query);
    write(this.count, `${shown.length} of ${all.length}`);
    this.table.setAttribute("aria-rowcount", shown.length + 1);
    this.paint();
  }

  made(query) {
    let made = this.rows.get(query.name);
    if (!made) {
      const row = document.createElement("tr");
      row.tabIndex = -1;
      row.dataset.name = query.name;
      row.append(...COLUMNS.map(([, kind]) => cell("", kind)));
      made = { row, cells: [...row.cells], texts: COLUMNS.map(() => ""), state: "" };
      this.rows.set(query.name, made);
    }
    made.query = query;
    return made;
  }

  // All rows are as high as the first; in place of those out of sight are margins.
  paint() {
    const box = this.table.parentElement;
    const body = this.table.tBodies[0];
    const height = body.rows[0]?.getBoundingClientRect().height || ROW_HEIGHT;
    const first = Math.max(0, Math.min(Math.floor(box.scrollTop / height) - AROUND, this.shown.length - 2 * AROUND));
    const last = Math.ceil((box.scrollTop + box.clientHeight) / height) + AROUND;
    const made = this.shown.slice(first, last).map((query) => this.made(query));
    made.forEach((one, place) => {
      one.row.setAttribute("aria-rowindex", first + place + 2);
      this.paintRow(one);
    });
    this.place(body, made.map(({ row }) => row));
    this.rows = new Map(made.map((one) => [one.query.name, one]));
    this.table.style.marginTop = `${first * height}px`;
    this.table.style.marginBottom = `${Math.max(0, this.shown.length - last) * height}px`;
    this.roving.refresh();
  }

  // Rows that stay are not touched, for one of them may have the focus.
  place(body, rows) {
    const focused = document.activeElement;
    const wanted = new Set(rows);
    for (const row of [...body.rows]) if (!wanted.has(row)) row.remove();
    rows.forEach((row, place) => row === body.rows[place] || body.insertBefore(row, body.rows[place] ?? null));
    if (wanted.has(focused) && focused !== document.activeElement) focused.focus({ preventScroll: true });
  }

  // A row that is out of sight is fetched first.
  rowAfter(row, key) {
    const place = this.shown.findIndex(({ name }) => name === row.dataset.name);
    const next = stepped(place, this.shown.length, key);
    if (next === null) return null;
    const { name } = this.shown[next];
    if (!this.rows.has(name)) {
      const box = this.table.parentElement;
      box.scrollTop = next * row.getBoundingClientRect().height - box.clientHeight / 2;
      this.paint();
    }
    return this.rows.get(name)?.row ?? null;
  }

  paintRow(made) {
    const [, latest, answered, factor] = this.last;
    const { query } = made;
    COLUMNS.forEach(([, , value, form], place) => {
      const raw = value(query, latest, answered[query.name], factor);
      const text = Number.isNaN(raw) ? "" : form(raw);
      if (made.texts[place] === text) return;
      made.texts[place] = text;
      write(made.cells[place], text);
      // Groups may be long: where there is no room for them, the pointer tells.
      made.cells[place].title = text.length > 24 ? text : "";
    });
    const states = { sampled: "shed", "windows dropped": "shed", "goal missed": "missed" };
    const state = states[stateOf(query.name, latest).at(-1)] ?? "";
    const name = query.name === this.chosen ? `${state} chosen` : state;
    if (made.state !== name) made.row.className = made.state = name;
  }
}
