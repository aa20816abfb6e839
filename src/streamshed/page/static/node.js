// One node of the network: what it costs, and its last five minutes.

import { along, axes, fromZero, line, padding, width } from "./plots.js";
import { ask, bytes, listed, number, openDialog, percent, seconds } from "./texts.js";

// Of each chart: title, its lines by label, color and value; shown where any row has a value.
const CHARTS = [
  [
    "Kept before it, percent",
    [
      ["sampler", "orange", (row) => 100 * row.sampling_rate],
      ["rows used", "blue", (row) => 100 * row.effective_sampling_rate],
      ["windows kept", "good", (row) => 100 * row.kept_share],
    ],
  ],
  ["Expected error, percent", [["standard error", "orange", (row) => 100 * row.expected_error]]],
  ["Rows per second of its clock", [["came", "blue", (row) => row.offered_rows_per_second]]],
];
const STATE = ["State, MB", [["state", "gray", (row) => row.state_bytes / 1e6]]];

function heldText(held) {
  const together = held.others ? `, together with ${held.others} other nodes of its clock: they are not told apart` : "";
  return `${number(held.rows)} rows or groups, ${bytes(held.bytes)}${together}`;
}

export class NodeView {
  constructor(dialog) {
    this.dialog = dialog;
    this.plots = [];
    dialog.addEventListener("close", () => this.forget());
  }

  forget() {
    this.plots.forEach((plot) => plot.destroy());
    this.plots = [];
  }

  async open(place, clock, present) {
    this.forget();
    this.dialog.querySelector("h3").textContent = place.label;
    listed(this.dialog.querySelector("dl"), this.facts(place, present));
    const charts = this.dialog.querySelector(".charts");
    charts.replaceChildren();
    openDialog(this.dialog);
    const node = new URLSearchParams({ node: present.sampled.address, kind: place.kind });
    const past = await ask(`past/${encodeURIComponent(clock)}?${node}`);
    const times = past.map((row) => row.started_at_seconds);
    for (const [title, lines] of present.held ? [...CHARTS, STATE] : CHARTS) {
      const values = lines.map(([, , value]) => past.map((row) => (Number.isFinite(value(row)) ? value(row) : null)));
      const shown = lines.filter((_, number) => values[number].some((value) => value !== null));
      if (shown.length)
        this.plots.push(
          this.plot(charts, title, shown, [
            times,
            ...values.filter((column) => column.some((value) => value !== null)),
          ]),
        );
    }
  }

  facts(place, { costs, share, held }) {
    return [
      ["kind", place.kind],
      ["address", place.address],
      ["cost of a row", costs?.seconds_per_row === undefined ? "not known" : seconds(costs.seconds_per_row)],
      [
        "that was",
        costs?.is_measured === undefined
          ? ""
          : costs.is_measured
            ? "measured by itself"
            : "its part of what was measured of all",
      ],
      ["rows passed on", percent(costs?.selectivity)],
      ["passed on, if all were kept", costs?.rows_per_second ? `${number(costs.rows_per_second)} rows/s` : ""],
      ["of all work that can be shed", percent(costs?.work_share)],
      ["sampler before it keeps", percent(share)],
      ["holds", held ? heldText(held) : "nothing"],
    ];
  }

  plot(place, title, lines, data) {
    const points = { show: data[0].length < 3 };
    const options = {
      title,
      width: width(place),
      height: 150,
      scales: { y: fromZero },
      padding,
      axes: axes(),
      series: [along("at"), ...lines.map(([label, name]) => line(label, name, { points }))],
    };
    return new uPlot(options, data, place);
  }
}
