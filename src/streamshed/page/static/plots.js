// What all charts by uPlot have in common: colors of the page, axes, and how values are told.

import { number, time, timeOfDay } from "./texts.js";

export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const told = (value, digits) => (value === null || value === undefined ? "–" : number(value, digits));

export const width = (place) => Math.max(place.clientWidth - 4, 200);

// The lower axis is of times, or of numbers.
export function axes(isTimed = true) {
  const axis = {
    stroke: color("faint"),
    grid: { stroke: color("line"), width: 1 },
    ticks: { stroke: color("line") },
  };
  const times = isTimed ? { values: (_, instants) => instants.map(timeOfDay), space: 90 } : {};
  return [
    { ...axis, ...times },
    // As wide as its longest label, so that charts with small numbers still stand in line.
    { ...axis, size: (_, labels) => Math.max(70, ...(labels ?? []).map((label) => 20 + 8 * label.length)) },
  ];
}

// Where no cursor is, a legend tells the latest values.
const latest = (plot, value, series, index) => (index === null ? plot.data[series].at(-1) : value);

export const along = (label, isTimed = true) => ({
  label,
  value: (...at) => {
    const place = latest(...at) ?? null;
    return place === null ? "–" : isTimed ? time(place) : place;
  },
});

export const line = (label, name, more = {}) => ({
  label,
  stroke: color(name),
  width: 1.5,
  points: { show: false },
  value: (...at) => told(latest(...at), 4),
  ...more,
});

// Room for the label of the latest time.
export const padding = [null, 42, null, null];

export const fromZero = { range: (_, __, most) => [0, (most || 1) * 1.05] };
