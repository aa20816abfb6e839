// Where nodes, arrows and what stands at arrows are: laid out by ELK, in a worker that is let go after.

// A join has a line more than others: what it costs, and what it holds.
export const sizeOf = ({ inputs }) => ({ width: 184, height: inputs.length > 1 ? 60 : 46 });
// One without a text would be passed over.
const LABEL = { text: "rate", width: 64, height: 30 };

const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.direction": "RIGHT",
  "elk.edgeRouting": "SPLINES",
  "elk.padding": "[top=8,left=8,bottom=8,right=8]",
  "elk.spacing.nodeNode": 12,
  "elk.spacing.edgeLabel": 0,
  "elk.layered.spacing.nodeNodeBetweenLayers": 12,
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
};

// A curve through the points of ELK: after the first, each three of them are a piece of Bézier's.
function curve({ startPoint, bendPoints = [], endPoint }) {
  const points = [...bendPoints, endPoint].map(({ x, y }) => `${x},${y}`);
  return `M${startPoint.x},${startPoint.y} ${points.length % 3 ? "L" : "C"}${points.join(" ")}`;
}

// Returns the size of the whole, places of nodes by their keys, and of arrows the ends, the path and the label.
export async function layout(things) {
  await import("./elk-api.js");
  const elk = new ELK({ workerUrl: new URL("elk-worker.min.js", import.meta.url).href });
  const edges = things.flatMap(({ key, inputs }) =>
    inputs.map((input) => ({ id: `${input} → ${key}`, sources: [input], targets: [key], labels: [{ ...LABEL }] })),
  );
  try {
    const children = things.map((thing) => ({ id: thing.key, ...sizeOf(thing) }));
    const laid = await elk.layout({ id: "network", layoutOptions: OPTIONS, children, edges });
    return {
      width: laid.width,
      height: laid.height,
      places: new Map(laid.children.map(({ id, x, y }) => [id, { x, y }])),
      arrows: laid.edges.map(({ sources, targets, sections, labels }) => ({
        from: sources[0],
        to: targets[0],
        path: sections.map(curve).join(" "),
        label: labels[0],
      })),
    };
  } finally {
    elk.terminateWorker();
  }
}
