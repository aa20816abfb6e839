// The tables of queries and of decisions. Rows are made once and changed where they differ.

export const percent = (share) =>
  share === undefined || share === null ? "" : `${Number((100 * share).toPrecision(3))} %`;
const plain = (value) => String(value ?? "");
const number = (value, digits = 3) =>
  value === undefined || value === null ? "" : value.toLocaleString("en", { maximumSignificantDigits: digits });

function cell(text, name) {
  const made = document.createElement("td");
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

const COLUMNS = [
  ["query", (query) => query.name, ""],
  ["mode", (query) => query.mode, ""],
  ["rows used", (query, row) => row.effective_sampling_rates?.[query.name], "number", percent],
  ["windows kept", (query, row) => row.kept_shares?.[query.name], "number", percent],
  ["expected error", (query, row) => row.expected_errors?.[query.name], "number", percent],
  ["goal", (query) => query.max_error ?? "", ""],
  ["priority", (query) => query.priority, "number"],
  ["weight", (query) => query.weight, "number"],
];

export class Queries {
  constructor(table, filter, count) {
    this.table = table;
    this.filter = filter;
    this.count = count;
    this.order = { column: 0, sign: 1 };
    this.rows = new Map();
    this.last = null;
    filter.addEventListener("input", () => this.show(...this.last));
    table.querySelector("thead tr").append(
      ...COLUMNS.map(([title, , kind], column) => {
        const head = document.createElement("th");
        head.className = kind;
        const button = document.createElement("button");
        button.textContent = title;
        button.addEventListener("click", () => {
          const isSame = this.order.column === column;
          this.order = { column, sign: isSame ? -this.order.sign : 1 };
          this.show(...this.last);
        });
        head.append(button);
        return head;
      }),
    );
  }

  show(network, latest) {
    this.last = [network, latest];
    // Queries that the network's file does not name are known by their rates.
    const known = network?.queries ?? Object.keys(latest.effective_sampling_rates ?? {}).map((name) => ({ name }));
    const wanted = this.filter.value.toLowerCase();
    const value = COLUMNS[this.order.column][1];
    const chosen = known.filter((query) => query.name.toLowerCase().includes(wanted));
    const compared = (a, b) => (a ?? -1) < (b ?? -1) ? -1 : (a ?? -1) > (b ?? -1) ? 1 : 0;
    chosen.sort((a, b) => this.order.sign * compared(value(a, latest), value(b, latest)));
    const missed = new Set((latest.missed_goals ?? "").split(" "));
    const body = this.table.tBodies[0];
    const shown = chosen.map((query) => this.row(query, latest, missed.has(query.name)));
    const isSame = shown.length === body.rows.length && shown.every((row, place) => row === body.rows[place]);
    if (!isSame) body.replaceChildren(...shown);
    this.count.textContent = `${chosen.length} of ${known.length}`;
  }

  row(query, latest, isMissed) {
    let row = this.rows.get(query.name);
    if (!row) {
      row = document.createElement("tr");
      row.append(...COLUMNS.map(([, , kind]) => cell("", kind)));
      this.rows.set(query.name, row);
    }
    COLUMNS.forEach(([, value, , form], place) => {
      const text = (form ?? plain)(value(query, latest));
      if (row.cells[place].textContent !== text) row.cells[place].textContent = text;
    });
    const rate = latest.effective_sampling_rates?.[query.name] ?? 1;
    const kept = latest.kept_shares?.[query.name] ?? 1;
    row.className = isMissed ? "missed" : rate < 1 || kept < 1 ? "shed" : "";
    return row;
  }
}

const DECISIONS = [
  ["time", ""],
  ["micro-batch", "number"],
  ["reason", ""],
  ["rows", "number"],
  ["work done", "number"],
  ["expected", "number"],
  ["took", "number"],
  ["delay", "number"],
  ["gaps", "number"],
  ["why", ""],
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
    table.querySelector("thead tr").append(
      ...DECISIONS.map(([title, kind]) => {
        const head = document.createElement("th");
        head.className = kind;
        head.textContent = title;
        return head;
      }),
    );
    const open = (event) => {
      const row = event.target.closest("tbody tr");
      if (row) this.open(row.dataset.number);
    };
    table.addEventListener("click", open);
    table.addEventListener("keydown", (event) => event.key === "Enter" && open(event));
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
  }

  row(figures) {
    const row = document.createElement("tr");
    row.tabIndex = 0;
    row.dataset.number = figures.micro_batch_id;
    row.className = figures.work_share < 1 ? "shed" : "";
    row.append(
      cell(new Date(1000 * figures.started_at_seconds).toLocaleTimeString()),
      cell(figures.micro_batch_id, "number"),
      cell(figures.reason),
      cell(number(figures.offered_rows), "number"),
      cell(percent(figures.work_share), "number"),
      cell(`${number(figures.expected_seconds)} s`, "number"),
      cell(`${number(figures.processing_seconds)} s`, "number"),
      cell(`${number(figures.delay_seconds)} s`, "number"),
      cell(figures.gaps || "", "number"),
      cell(figures.explanation, "wide"),
    );
    return row;
  }

  async open(micro_batch_id) {
    const answer = await fetch(`decisions/${encodeURIComponent(this.clock)}/${micro_batch_id}`);
    if (!answer.ok) return;
    const whole = await answer.json();
    this.dialog.querySelector("h3").textContent = `Micro-batch ${micro_batch_id} of the clock ${this.clock}`;
    const list = this.dialog.querySelector("dl");
    list.replaceChildren();
    for (const [name, value] of Object.entries(whole)) {
      if (value === null || value === "" || (typeof value === "object" && !Object.keys(value).length)) continue;
      const term = document.createElement("dt");
      const said = document.createElement("dd");
      term.textContent = name;
      said.textContent = told(value);
      list.append(term, said);
    }
    this.dialog.showModal();
  }
}
