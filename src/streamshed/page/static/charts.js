// Charts that stand side by side over the same time, by uPlot: that of the clock, or that of a simulation.

import { along, axes, fromZero, line, padding } from "./plots.js";

// Rows a second that would fill the time that a plan may fill, by the costs of those that came: unknown without any.
function capacity(row) {
  const isKnown = row.budget_seconds > 0 && row.unshed_seconds > 0 && row.offered_rows > 0;
  const load = row.unshed_seconds / row.budget_seconds;
  return isKnown ? row.offered_rows / row.trigger_interval_seconds / load : null;
}

const PANELS = [
  {
    title: "Delay of answers, seconds",
    series: [
      ["delay", "late", (row) => row.delay_seconds],
      ["goal", "gray", (row, goal) => goal ?? 2 * row.trigger_interval_seconds, [6, 4]],
    ],
  },
  {
    title: "Rows per second",
    series: [
      ["came", "orange", (row) => row.offered_rows / row.trigger_interval_seconds],
      ["worked on", "blue", (row) => (row.offered_rows * row.work_share) / row.trigger_interval_seconds],
      ["would fit", "gray", capacity, [6, 4]],
    ],
  },
  {
    title: "Time of a micro-batch, seconds",
    series: [
      ["took", "blue", (row) => row.processing_seconds],
      ["expected", "orange", (row) => row.expected_seconds],
      ["cannot be shed", "gray", (row) => row.unsheddable_seconds],
      ["trigger", "late", (row) => row.trigger_interval_seconds, [6, 4]],
    ],
  },
  {
    title: "Kept, percent",
    series: [
      ["work done", "blue", (row) => 100 * row.work_share],
      ["least sampling rate", "orange", (row) => 100 * row.sampling_rate],
      ["exact answers", "good", (row) => (row.answers ? (100 * row.exact_answers) / row.answers : null)],
    ],
  },
];

export class Charts {
  constructor(place, panels = PANELS, { axis = "at", isTimed = true, height = 200 } = {}) {
    Object.assign(this, { place, panels, axis, isTimed, height });
    this.plots = null;
    new ResizeObserver(() => this.resize()).observe(place);
  }

  show(figures, goal) {
    this.plots ??= this.panels.map((panel) => this.plot(panel));
    const times = figures.map((row) => row.started_at_seconds);
    this.panels.forEach((panel, number) => {
      const values = panel.series.map(([, , value]) => figures.map((row) => value(row, goal) ?? null));
      this.plots[number].setData([times, ...values]);
    });
  }

  forget() {
    this.plots?.forEach((plot) => plot.destroy());
    this.place.replaceChildren();
    this.plots = null;
  }

  resize() {
    this.plots?.forEach((plot) => plot.setSize(this.size(plot.root.parentElement)));
  }

  size(box) {
    return { width: Math.max(box.clientWidth - 20, 200), height: this.height };
  }

  plot(panel) {
    const box = document.createElement("div");
    box.className = "chart";
    this.place.append(box);
    const options = {
      ...this.size(box),
      title: panel.title,
      cursor: { sync: { key: this.axis } },
      scales: { x: { time: this.isTimed }, y: fromZero },
      padding,
      axes: axes(this.isTimed),
      series: [along(this.axis, this.isTimed), ...panel.series.map(([label, name, , dash]) => line(label, name, { dash }))],
    };
    return new uPlot(options, [[], ...panel.series.map(() => [])], box);
  }
}
