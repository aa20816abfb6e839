// Numbers as texts, cells of tables, and answers of the server.

export const percent = (share) =>
  share === undefined || share === null ? "" : `${Number((100 * share).toPrecision(3))} %`;

// Formats are dear to make, and hold memory that is no part of the heap: one for each number of digits.
const formats = new Map();

function formatOf(digits) {
  if (!formats.has(digits)) formats.set(digits, new Intl.NumberFormat("en", { maximumSignificantDigits: digits }));
  return formats.get(digits);
}

export const number = (value, digits = 3) =>
  value === undefined || value === null || typeof value === "string" ? (value ?? "") : formatOf(digits).format(value);

export const plain = (value) => String(value ?? "");

// Exact values in all digits, as far as a number has them.
export const exact = (value) => number(value, Number.isInteger(value) ? 17 : 10);

const timeFormat = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });

export const timeOfDay = (seconds) => timeFormat.format(1000 * seconds);

// With the date, unless that is today's.
export function time(seconds) {
  const isToday = new Date(1000 * seconds).toDateString() === new Date().toDateString();
  return (isToday ? timeFormat : dayFormat).format(1000 * seconds);
}

export function seconds(value) {
  if (value === undefined || value === null) return "";
  if (value < 1e-3) return `${number(1e6 * value)} µs`;
  return value < 1 ? `${number(1e3 * value)} ms` : `${number(value)} s`;
}

export function bytes(value) {
  if (value < 1e6) return `${number(value / 1e3)} kB`;
  return value < 1e9 ? `${number(value / 1e6)} MB` : `${number(value / 1e9)} GB`;
}

// A text is changed where it is: one that is put in its place would be held until the browser collects, which is rare.
export function write(element, text) {
  const held = element.firstChild;
  const next = plain(text);
  if (held === null) element.textContent = next;
  else if (held.data !== next) held.data = next;
}

export function cell(text, name) {
  const made = document.createElement("td");
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

export function heads(table, columns, content = (title) => title) {
  const made = columns.map(([title, kind], place) => {
    const head = document.createElement("th");
    head.className = kind;
    head.scope = "col";
    head.append(content(title, place));
    return head;
  });
  table.querySelector("thead tr").replaceChildren(...made);
}

export function tableOf(columns, rows) {
  const table = document.createElement("table");
  table.createTHead().insertRow();
  heads(table, columns);
  table.createTBody();
  fillTable(table, columns, rows);
  return table;
}

// Rows that are there get other texts.
export function fillTable(table, columns, rows) {
  const body = table.tBodies[0];
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((texts, number) => {
    const row = body.rows[number];
    if (row) texts.forEach((text, place) => write(row.cells[place], text));
    else body.insertRow().append(...texts.map((text, place) => cell(text, columns[place][1])));
  });
}

// A list of names and what is said of them; what is not known is left out.
export function listed(list, facts) {
  const known = facts.filter(([, said]) => said !== "" && said !== null && said !== undefined);
  const parts = known.flatMap(([name, said]) => [["dt", name], ["dd", said]]);
  const made = ([kind, text]) => Object.assign(document.createElement(kind), { textContent: text });
  list.replaceChildren(...parts.map(made));
}

// The title has the focus: a dialog is read from its top.
export function openDialog(dialog) {
  dialog.showModal();
  dialog.scrollTop = 0;
}

// What cannot be done is said by the server in a sentence, which is thrown.
export async function ask(address, options) {
  const answer = await fetch(address, options);
  if (answer.ok) return answer.json();
  const text = await answer.text();
  const isJson = answer.headers.get("content-type") === "application/json";
  throw new Error((isJson ? JSON.parse(text).problem : text) || `the server answers ${answer.status}`);
}
