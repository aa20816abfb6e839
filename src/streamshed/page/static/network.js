// The network as a graph: a node stands right of its inputs. It is laid out anew for another network, or part of it.

import { Roving } from "./keys.js";
import { layout, sizeOf } from "./layout.js";
import { bytes, number, percent, seconds, write } from "./texts.js";

const NS = "http://www.w3.org/2000/svg";
const LETTERS = 26,
  LEAST_SCALE = 0.7,
  MOST_QUERIES = 50;

function make(name, attributes, ...children) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const shortened = (text) => (text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text);

// A query may be named like a stream: what kind it is belongs to its key.
export const keyOf = (address, isQuery) => (isQuery ? `query ${address}` : address);

// The streams, operators and queries on the way to some queries, inputs first.
function thingsOf(network, queries) {
  const nodes = new Map(network.nodes.map((node) => [node.id, node]));
  const wanted = new Set();
  const want = (id) => {
    if (wanted.has(id)) return;
    wanted.add(id);
    inputsOf(nodes.get(id)).forEach(want);
  };
  queries.forEach((query) => want(query.node));
  const key = (id) => keyOf(nodes.get(id).address, false);
  return [
    ...network.nodes
      .filter(({ id }) => wanted.has(id))
      .map((node) => ({ ...node, key: key(node.id), inputs: inputsOf(node).map(key) })),
    ...queries.map(({ name, node }) => ({
      key: keyOf(name, true),
      address: name,
      label: name,
      kind: "query",
      inputs: [key(node)],
    })),
  ];
}

const inputsOf = (node) => [...(node.input ? [node.input] : []), ...node.joins];

// By key of a node, the clock of the queries that rest on it.
function clocksOf(things, latest) {
  const places = new Map(things.map((thing) => [thing.key, thing]));
  const clocks = Object.entries(latest);
  const clockOf = new Map();
  const mark = (key, clock) => {
    if (clockOf.has(key)) return;
    clockOf.set(key, clock);
    places.get(key).inputs.forEach((input) => mark(input, clock));
  };
  for (const { key, address } of things.filter(({ kind }) => kind === "query")) {
    const [clock] = clocks.find(([, row]) => address in (row.effective_sampling_rates ?? {})) ?? clocks[0];
    mark(key, clock);
  }
  return clockOf;
}

// By key of a node, which share of rows its sampler keeps.
const samplersOf = (latest) => new Map(Object.values(latest).flatMap((row) => Object.entries(row.samplers ?? {})));

const byHeight = (a, b) => a.y - b.y;
const holdsState = (place) => place.kind === "aggregate" || place.inputs.length > 1;

export class NetworkView {
  constructor(section, onChoose) {
    const part = (name) => section.querySelector(`[data-part="${name}"]`);
    [this.box, this.about, this.more, this.most, this.path] = ["graph", "about", "more", "most", "path"].map(part);
    this.onChoose = onChoose;
    this.network = null;
    this.drawn = "";
    this.svg = null;
    this.places = new Map();
    this.boxes = new Map();
    this.arrows = [];
    this.costs = new Map();
    this.latest = {};
    this.samplers = new Map();
    this.roving = new Roving(
      this.box,
      "g[role=button]",
      (item, key) => this.neighbor(item, key),
      (item) => this.onChoose(this.places.get(item.dataset.key)),
    );
    this.box.addEventListener("scroll", () => requestAnimationFrame(() => this.tellMore()), { passive: true });
    new ResizeObserver(() => this.fit()).observe(this.box);
  }

  // All of a network, of a large one only what leads to some queries; or what leads to the chosen one.
  show(network, latest, chosen, matches) {
    if (!network) {
      this.box.textContent = "The checkpoint does not tell which network ran.";
      return;
    }
    this.latest = latest;
    this.samplers = samplersOf(latest);
    const of = network.queries.find(({ name }) => name === chosen);
    const isLarge = network.queries.length > MOST_QUERIES;
    const matching = isLarge ? network.queries.filter(matches).slice(0, MOST_QUERIES) : network.queries;
    const shown = !of ? matching : this.path.checked ? [of] : [...new Set([of, ...matching])];
    this.path.disabled = !of;
    this.box.classList.toggle("large", isLarge);
    this.about.textContent = isLarge
      ? `What leads to ${shown.length} of ${number(network.queries.length)} queries: filter or choose others below.`
      : "";
    this.know(network);
    const drawn = shown.map(({ name }) => name).sort().join("\n");
    if (this.network === network && this.drawn === drawn) return this.paint();
    Object.assign(this, { network, drawn });
    const things = thingsOf(network, network.queries.filter((query) => shown.includes(query)));
    this.laid = layout(things).then(
      (laid) => this.network === network && this.drawn === drawn && this.draw(things, laid),
      (error) => (this.box.textContent = `The network cannot be laid out: ${error.message}`),
    );
  }

  // What is of the whole network, also where only some of it is drawn.
  know(network) {
    if (this.whole !== network) {
      this.whole = network;
      this.all = thingsOf(network, network.queries);
      this.users = new Map(this.all.map(({ key }) => [key, []]));
      for (const thing of this.all) thing.inputs.forEach((input) => this.users.get(input).push(thing));
    }
    this.clocks = clocksOf(this.all, this.latest);
    this.holders = new Map();
    for (const thing of this.all.filter(holdsState)) {
      const clock = this.clockOf(thing);
      this.holders.set(clock, 1 + (this.holders.get(clock) ?? 0));
    }
  }

  showCosts(costs) {
    this.costs = new Map(costs.map((node) => [keyOf(node.address, node.is_query), node]));
    this.paint();
  }

  draw(things, { width, height, places, arrows }) {
    this.places = new Map(things.map((thing) => [thing.key, { ...thing, ...places.get(thing.key) }]));
    this.size = { width, height };
    this.svg = make("svg", { role: "group", viewBox: `0 0 ${width} ${height}` });
    this.svg.setAttribute("aria-label", "the operators and queries of the network");
    this.arrows = arrows.map(({ from, to, path, label }) => {
      const x = label.x + label.width / 2;
      const drawn = make("path", { d: path });
      const mark = make("text", { class: "rate", x, y: label.y + 12 });
      const flow = make("text", { class: "flow", x });
      this.svg.append(drawn, mark, flow);
      return { from, to, y: label.y, path: drawn, mark, flow };
    });
    this.boxes = new Map([...this.places].map(([key, place]) => [key, this.node(place)]));
    this.svg.append(...this.boxes.values());
    this.box.replaceChildren(this.svg);
    this.fit();
    const stream = [...this.places.values()].find(({ inputs }) => !inputs.length);
    this.box.scrollTop = (stream.y + sizeOf(stream).height / 2) * this.scale - this.box.clientHeight / 2;
    this.roving.refresh();
    this.paint();
  }

  node(place) {
    const { key, kind, label, inputs, x, y } = place;
    const frame = make("rect", { class: "frame", ...sizeOf(place), rx: kind === "query" ? 14 : 3 });
    const texts = [
      make("text", { x: 8, y: 19 }, shortened(label)),
      make("text", { class: "cost", x: 8, y: 36 }),
      make("text", { class: "cost", x: 8, y: inputs.length > 1 ? 51 : 36 }),
      make("title", {}, label),
    ];
    const attributes = { class: kind, "data-key": key, tabindex: -1, role: "button", "aria-label": `${kind} ${label}` };
    return make("g", { ...attributes, transform: `translate(${x} ${y})` }, frame, ...texts);
  }

  // As wide as there is room, unless letters became too small.
  fit() {
    if (!this.svg) return;
    const { width, height } = this.size;
    this.scale = Math.min(1, Math.max(LEAST_SCALE, this.box.clientWidth / width));
    this.svg.setAttribute("width", width * this.scale);
    this.svg.setAttribute("height", height * this.scale);
    this.tellMore();
  }

  tellMore() {
    this.more.hidden = this.box.scrollLeft + this.box.clientWidth > this.box.scrollWidth - 8;
  }

  // Left and right along arrows; up and down within a column.
  neighbor(item, key) {
    const place = this.places.get(item.dataset.key);
    const all = [...this.places.values()];
    const column = () => all.filter(({ x }) => Math.abs(x - place.x) < sizeOf(place).width / 2).sort(byHeight);
    const beside = (step) => column().at(Math.max(0, column().indexOf(place) + step)) ?? place;
    const ways = {
      ArrowLeft: () => this.places.get(place.inputs[0]) ?? place,
      ArrowRight: () => all.filter(({ inputs }) => inputs.includes(place.key)).sort(byHeight)[0] ?? place,
      ArrowUp: () => beside(-1),
      ArrowDown: () => beside(1),
      Home: () => all[0],
      End: () => all.at(-1),
    };
    return key in ways ? this.boxes.get(ways[key]().key) : null;
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
    return above * (this.sampler(place) ?? 1);
  }

  // The query that alone asks for the windows of a node: there its rows are, and its sampler stands before them.
  asker(place) {
    const [user, ...others] = this.users.get(place.key) ?? [];
    return place.kind === "aggregate" && user?.kind === "query" && !others.length ? user : null;
  }

  // Which share of rows the sampler on the arrows to a node keeps.
  sampler(place) {
    const isBeforeWindows = place.kind === "query" && this.asker(this.places.get(place.inputs[0]));
    return isBeforeWindows ? undefined : this.samplers.get((this.asker(place) ?? place).key);
  }

  paint() {
    if (!this.svg) return;
    const places = [...this.places.values()];
    const most = Math.max(0, ...[...this.costs.values()].map((node) => node.work_share ?? 0));
    this.most.textContent = percent(most) || "?";
    places.forEach((place) => this.paintNode(place, most));
    this.arrows.forEach((arrow) => this.paintArrow(arrow));
  }

  // What a node costs and holds; the more of all work it does, the darker it is.
  paintNode(place, most) {
    const box = this.boxes.get(place.key);
    const costs = this.costs.get(place.key);
    const held = this.held(place);
    const share = costs?.work_share ? percent(Number(costs.work_share.toPrecision(2))) : "";
    const cost = costs?.seconds_per_row === undefined ? "" : `${seconds(costs.seconds_per_row)} a row`;
    const [costText, heldText] = box.querySelectorAll(".cost");
    write(costText, [cost, share && `${share} of work`].filter(Boolean).join(", "));
    write(heldText, held?.bytes ? `holds ${bytes(held.bytes)}${held.others ? ` with ${held.others} others` : ""}` : "");
    box.style.setProperty("--load", `${most ? (50 * (costs?.work_share ?? 0)) / most : 0}%`);
  }

  // How many rows a second come along an arrow, and what was dropped on it: rows at random, or whole windows.
  paintArrow({ from, to, y, path, mark, flow }) {
    const [place, input] = [this.places.get(to), this.places.get(from)];
    const row = this.latest[this.clockOf(place)];
    const sampled = this.sampler(place) ?? 1;
    const windows = (place.kind === "query" ? row?.kept_shares?.[place.address] : undefined) ?? 1;
    const passed = this.costs.get(from)?.rows_per_second;
    write(flow, passed ? `${number(passed * this.admitted(input) * sampled)}/s` : "");
    const marks = [["▼", sampled], ["×", windows]].filter(([, share]) => share < 1);
    write(mark, marks.map(([sign, share]) => `${sign} ${(100 * share).toPrecision(3)} %`).join(" "));
    flow.setAttribute("y", y + (mark.textContent ? 26 : 12));
    path.setAttribute("class", windows < 1 ? "dropped" : sampled < 1 ? "sampled" : "");
  }
}

