// The answers of one query over time, their bounds as a band: what is exact, what is estimated, what is missing.

import { along, axes, color, line, padding, width } from "./plots.js";
import { answerText, endText } from "./queries.js";
import { ask, exact, fillTable, number, percent, plain, tableOf, write } from "./texts.js";

const SHOWN = 12;
const COLUMNS = [
  ["window until", ""],
  ["answer", ""],
  ["lower", "number"],
  ["upper", "number"],
  ["confidence", "number"],
  ["", ""],
];
const HEIGHT = 260;

const finite = (value) => (Number.isFinite(value) ? value : null);
const groupOf = (answer) => JSON.stringify(answer.key ?? []);

const endOf = (answer) => answer.window_end ?? answer.window_until;
const isGap = (answer) => answer.kind === "gap";

export class Answers {
  constructor(section) {
    this.section = section;
    this.query = null;
    this.answers = [];
    this.gaps = [];
    this.plot = null;
    this.plotted = null;
    const part = (name) => section.querySelector(`[data-part="${name}"]`);
    this.parts = Object.fromEntries(
      ["title", "facts", "aggregate", "group", "chart", "table", "empty"].map((name) => [name, part(name)]),
    );
    for (const choice of [this.parts.aggregate, this.parts.group]) choice.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.plot?.setSize({ width: width(this.parts.chart), height: HEIGHT })).observe(
      this.parts.chart,
    );
  }

  async open(query) {
    this.query = query;
    this.section.hidden = false;
    await this.load();
  }

  close() {
    this.query = null;
    this.section.hidden = true;
  }

  async load() {
    const query = this.query;
    if (query === null) return;
    const answers = await ask(`answers/${encodeURIComponent(query.name)}`);
    if (query !== this.query) return; // another one was chosen meanwhile
    this.answers = answers;
    this.choices();
    this.draw();
  }

  choices() {
    const answers = this.answers.filter((answer) => answer.kind === "answer");
    const fill = (choice, values) => {
      const before = choice.value;
      const there = [...choice.options].map(({ value }) => value);
      if (JSON.stringify(there) === JSON.stringify(values.map(([value]) => value))) return;
      choice.replaceChildren(...values.map(([value, text]) => new Option(text, value)));
      if (values.some(([value]) => value === before)) choice.value = before;
      choice.parentElement.hidden = values.length < 2;
    };
    const aggregates = [...new Set(answers.map((answer) => answer.aggregate))];
    fill(
      this.parts.aggregate,
      aggregates.map((name) => [name, name]),
    );
    const counts = new Map();
    for (const answer of answers) counts.set(groupOf(answer), (counts.get(groupOf(answer)) ?? 0) + 1);
    const groups = [...counts].sort(([, a], [, b]) => b - a).map(([group]) => group);
    fill(
      this.parts.group,
      groups.map((group) => [
        group,
        JSON.parse(group)
          .map((part) => part ?? "null")
          .join(", ") || "all rows",
      ]),
    );
  }

  facts() {
    const { query } = this;
    const goals = [query.max_error && `goal ${query.max_error}`, query.max_gap && `at most ${query.max_gap} missing`];
    return [query.mode, `weight ${query.weight}`, `priority ${query.priority}`, ...goals].filter(Boolean).join(", ");
  }

  draw() {
    const { title, facts, chart, table, empty } = this.parts;
    write(title, `Answers of ${this.query.name}`);
    write(facts, this.query.mode ? this.facts() : "");
    empty.hidden = this.answers.length > 0;
    const shown = this.answers.filter(
      (answer) =>
        isGap(answer) ||
        (answer.aggregate === this.parts.aggregate.value && groupOf(answer) === this.parts.group.value),
    );
    this.plotAnswers(chart, shown);
    const rows = shown.slice(-SHOWN).reverse();
    const texts = rows.map((answer) => [
      endText(answer),
      answerText(answer),
      (answer.exact ? exact : number)(answer.lower, 5),
      (answer.exact ? exact : number)(answer.upper, 5),
      isGap(answer) ? "" : percent(answer.confidence),
      isGap(answer)
        ? plain(answer.value_text && "of some groups")
        : answer.exact
          ? "exact"
          : `estimated: ${plain(answer.reason)}`,
    ]);
    if (table.firstChild) fillTable(table.firstChild, COLUMNS, texts);
    else table.append(tableOf(COLUMNS, texts));
  }

  // A chart is made anew only for other answers: what canvases leave behind is collected late.
  plotAnswers(place, shown) {
    this.gaps = shown.filter(isGap);
    const isShown = shown.some((answer) => Number.isFinite(answer.value));
    const plotted = isShown && [this.query.name, this.parts.aggregate.value, this.parts.group.value].join("\n");
    if (isShown && plotted === this.plotted) {
      this.plot.setData(this.columns(shown));
      return;
    }
    this.forget();
    if (!isShown) return;
    this.plotted = plotted;
    this.plot = this.chart(place, shown[0].window_end !== undefined, this.columns(shown));
  }

  forget() {
    this.plot?.destroy();
    this.plot = this.plotted = null;
  }

  columns(shown) {
    // Where a window is missing for some groups and this one has an answer, the answer counts.
    const at = new Map(shown.filter(isGap).map((gap) => [endOf(gap), gap]));
    for (const answer of shown) if (!isGap(answer)) at.set(endOf(answer), answer);
    const points = [...at.values()].sort((a, b) => endOf(a) - endOf(b));
    const column = (value) => points.map((answer) => (isGap(answer) ? null : finite(value(answer))));
    return [
      points.map(endOf),
      column((answer) => answer.upper),
      column((answer) => answer.lower),
      column((answer) => answer.value),
      column((answer) => (answer.exact ? answer.value : null)),
      column((answer) => (answer.exact ? null : answer.value)),
    ];
  }

  chart(place, isTimed, data) {
    const bounds = ({ data: [, upper, lower] }, _, __, index) => {
      const [low, high] = [lower, upper].map((column) => column.at(index ?? -1) ?? null);
      return low === null || high === null ? "–" : `${number(low, 4)} to ${number(high, 4)}`;
    };
    const dots = (label, name) => {
      const points = { show: true, size: 7, stroke: color(name), fill: color(name) };
      return line(label, name, { width: 0, paths: () => null, points });
    };
    const options = {
      width: width(place),
      height: HEIGHT,
      scales: { x: { time: isTimed } },
      padding,
      axes: axes(isTimed),
      bands: [{ series: [1, 2], fill: `${color("orange")}44` }],
      series: [
        along("window until", isTimed),
        line("bounds", "orange", { width: 0.7, value: bounds }),
        line("lower bound, of which the legend tells with the upper", "orange", { width: 0.7 }),
        line("answer", "blue", { width: 1 }),
        dots("exact", "good"),
        dots("estimated", "orange"),
      ],
      hooks: { drawClear: [(plot) => this.shade(plot)] },
    };
    return new uPlot(options, data, place);
  }

  // Windows that are missing, behind the lines; those of some groups only are lighter.
  shade(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const gap of this.gaps) {
      const start = plot.valToPos(gap.window_start ?? gap.window_from, "x", true);
      const width = plot.valToPos(endOf(gap), "x", true) - start;
      ctx.fillStyle = `${color("gray")}${gap.value_text ? "30" : "66"}`;
      ctx.fillRect(start, bbox.top, Math.max(width, 2), bbox.height);
    }
    ctx.restore();
  }
}
