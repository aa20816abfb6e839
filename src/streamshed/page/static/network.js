// The network as a graph in columns: a node stands right of its inputs. Laid out once for each network.

import { bytes, number, percent, seconds } from "./texts.js";

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 250,
  HEIGHT = 46,
  GAP_X = 90,
  GAP_Y = 12,
  LETTERS = 36,
  MARGIN = 300;

function make(name, attributes, ...children) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function layout(network) {
  const things = [
    ...network.nodes.map((node) => ({
      key: node.id,
      address: node.address,
      label: node.label,
      kind: node.kind,
      inputs: [...(node.input ? [node.input] : []), ...node.joins],
    })),
    ...network.queries.map((query) => ({
      key: `query ${query.name}`,
      address: query.name,
      label: query.name,
      kind: "query",
      inputs: [query.node],
    })),
  ];
  const places = new Map();
  for (const thing of things) {
    const depths = thing.inputs.map((input) => places.get(input).column + 1);
    places.set(thing.key, { ...thing, column: Math.max(0, ...depths) });
  }
  // Leaves from top to bottom in the order of the tree; what has users stands between them.
  const users = new Map();
  for (const place of places.values()) {
    for (const input of place.inputs) users.set(input, [...(users.get(input) ?? []), place.key]);
  }
  let next = 0;
  const rowOf = (key) => {
    const place = places.get(key);
    if (place.row !== undefined) return place.row;
    const below = users.get(key) ?? [];
    place.row = below.length ? below.map(rowOf).reduce((sum, row) => sum + row, 0) / below.length : next++;
    return place.row;
  };
  for (const place of places.values()) if (!place.inputs.length) rowOf(place.key);
  return {
    places: [...places.values()],
    rows: next,
    columns: 1 + Math.max(...[...places.values()].map((p) => p.column)),
  };
}

function shortened(text) {
  return text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text;
}

function draw(container, network, onChoose) {
  const { places, rows, columns } = layout(network);
  const at = new Map(
    places.map((p) => [p.key, { x: 10 + p.column * (WIDTH + GAP_X), y: 10 + p.row * (HEIGHT + GAP_Y) }]),
  );
  const width = columns * (WIDTH + GAP_X),
    height = rows * (HEIGHT + GAP_Y) + 20;
  const svg = make("svg", { width, height, role: "group", "aria-label": "the operators and queries of the network" });
  const parts = [];
  for (const place of places) {
    const { x, y } = at.get(place.key);
    const arrows = place.inputs.map((input) => {
      const from = at.get(input);
      const x1 = from.x + WIDTH,
        y1 = from.y + HEIGHT / 2,
        y2 = y + HEIGHT / 2,
        middle = (x1 + x) / 2;
      return make("path", { d: `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x},${y2}` });
    });
    const title = make("title", {}, place.label);
    const text = make("text", { x: x + 8, y: y + 19 }, shortened(place.label));
    const cost = make("text", { class: "cost", x: x + 8, y: y + 36 });
    const load = make("rect", { class: "load", x: x + 1, y: y + HEIGHT - 5, width: 0, height: 4, rx: 2 });
    const frame = make("rect", { class: "frame", x, y, width: WIDTH, height: HEIGHT, rx: 4 });
    const box = make("g", { class: place.kind, tabindex: 0, role: "button" }, frame, load, text, cost, title);
    box.addEventListener("click", () => onChoose(place));
    box.addEventListener("keydown", (event) => event.key === "Enter" && onChoose(place));
    const rate = make("text", { class: "rate", x: x - 44, y: y + HEIGHT / 2 - 4 });
    const flow = make("text", { class: "cost flow", x: x + WIDTH + 4, y: y + HEIGHT / 2 + 13 });
    svg.append(...arrows, box, rate, flow);
    parts.push({ place, y, arrows, box, rate, cost, load, flow, kept: "", costs: "", passed: "" });
  }
  container.replaceChildren(svg);
  return parts;
}

// By key of a node, the clock of the queries that rest on it.
function clocksOf(network, latest) {
  const nodes = new Map(network.nodes.map((node) => [node.id, node]));
  const clocks = Object.entries(latest);
  const clockOf = new Map();
  const mark = (id, clock) => {
    if (clockOf.has(id)) return;
    clockOf.set(id, clock);
    const { input, joins } = nodes.get(id);
    [...(input ? [input] : []), ...joins].forEach((above) => mark(above, clock));
  };
  for (const query of network.queries) {
    const [clock] = clocks.find(([, row]) => query.name in (row.effective_sampling_rates ?? {})) ?? clocks[0];
    clockOf.set(`query ${query.name}`, clock);
    mark(query.node, clock);
  }
  return clockOf;
}

const holdsState = (place) => place.kind === "aggregate" || place.inputs.length > 1;

// Only what is in sight is painted anew: of a thousand queries that is a small part.
export class NetworkView {
  constructor(container, onChoose) {
    this.container = container;
    this.onChoose = onChoose;
    this.network = null;
    this.parts = [];
    this.shares = {};
    this.costs = new Map();
    this.latest = {};
    this.clocks = new Map();
    this.holders = new Map();
    container.addEventListener("scroll", () => requestAnimationFrame(() => this.paint()), { passive: true });
  }

  show(network, latest) {
    if (!network) {
      this.container.textContent = "The checkpoint does not tell which network ran.";
      return;
    }
    if (this.network !== network) {
      this.network = network;
      this.parts = draw(this.container, network, this.onChoose);
      this.places = new Map(this.parts.map(({ place }) => [place.key, place]));
    }
    this.latest = latest;
    this.clocks = clocksOf(network, latest);
    this.holders = new Map();
    for (const { place } of this.parts.filter((part) => holdsState(part.place))) {
      const clock = this.clockOf(place);
      this.holders.set(clock, 1 + (this.holders.get(clock) ?? 0));
    }
    const rows = Object.values(latest);
    this.shares = Object.assign(
      {},
      ...rows.map((row) => row.kept_shares ?? {}),
      ...rows.map((row) => row.samplers ?? {}),
    );
    this.paint();
  }

  showCosts(costs) {
    this.costs = costs;
    this.paint();
  }

  paint() {
    const top = this.container.scrollTop - MARGIN;
    const bottom = top + this.container.clientHeight + 2 * MARGIN;
    for (const part of this.parts) if (part.y > top && part.y < bottom) this.paintPart(part);
  }

  clockOf(place) {
    return this.clocks.get(place.key) ?? Object.keys(this.latest)[0];
  }

  // What a node holds, as far as the journal tells: the windows of a join by themselves, all else of a clock together.
  held(place) {
    if (!holdsState(place)) return null;
    const clock = this.clockOf(place);
    const row = this.latest[clock];
    const join = row.joins?.[place.address];
    if (join) return { rows: join.stored_rows, bytes: join.stored_bytes, others: 0 };
    return { rows: row.state_rows, bytes: row.state_bytes, others: this.holders.get(clock) - 1 };
  }

  // Which share of all rows gets past the samplers up to a node.
  admitted(place) {
    const above = place.inputs.length === 1 ? this.admitted(this.places.get(place.inputs[0])) : 1;
    return above * (this.shares[place.address] ?? 1);
  }

  // The share that is kept before a node, what it costs and holds, a bar for its part of all work, and what it passes on.
  paintPart(part) {
    const { place, arrows, box, rate, cost, load } = part;
    const share = this.shares[place.address] ?? 1;
    const known = this.costs.get(place.address);
    const work = known?.work_share ? `, ${percent(known.work_share)} of the work` : "";
    const kept = share < 1 ? `${(100 * share).toPrecision(3)} %` : "";
    const held = this.held(place);
    const costs = [
      known?.seconds_per_row === undefined ? "" : `${seconds(known.seconds_per_row)} a row${work}`,
      held?.bytes ? `holds ${bytes(held.bytes)}${held.others ? ` with ${held.others} others` : ""}` : "",
    ];
    const passed = known?.rows_per_second;
    this.paintText(part, "passed", part.flow, passed ? `${number(passed * this.admitted(place))}/s` : "");
    if (this.paintText(part, "kept", rate, kept)) {
      box.setAttribute("class", kept ? `${place.kind} shed` : place.kind);
      arrows.forEach((arrow) => arrow.setAttribute("class", kept ? "shed" : ""));
    }
    if (this.paintText(part, "costs", cost, costs.filter(Boolean).join(", "))) {
      load.setAttribute("width", (WIDTH - 2) * Math.min(known?.work_share ?? 0, 1));
    }
  }

  // Tells whether it was another text before.
  paintText(part, name, element, text) {
    if (part[name] === text) return false;
    part[name] = element.textContent = text;
    return true;
  }
}
