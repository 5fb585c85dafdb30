// Where the tasks of a plan stand when it is drawn as a graph: layers by what they wait for, edges as curves. Pure.

export const NODE = { width: 164, height: 88 };
const GAP = { x: 16, y: 40 };
const MARGIN = 12;
const BEND_WIDTH = 10; // room for an edge that passes a layer
const SWEEPS = 6;

// `tasks`: [{id, dependsOn}] → {width, height, layers: [[id]], nodes: Map(id → {x, y, layer, at}), edges: [{from, to, path}]}
export function layoutOf(tasks) {
  const known = new Set(tasks.map(({ id }) => id));
  const before = new Map(tasks.map(({ id, dependsOn }) => [id, [...new Set(dependsOn)].filter((other) => known.has(other) && other !== id)]));
  const layerOf = layersOf(tasks, before);
  const { rows, links } = withBends(tasks, before, layerOf);
  sort(rows, links);
  const centres = placed(rows, links);
  const nodes = new Map();
  rows.forEach((row, layer) => row.filter((id) => known.has(id)).forEach((id, at) => nodes.set(id, { x: centres.get(id) - NODE.width / 2, y: MARGIN + layer * (NODE.height + GAP.y), layer, at })));
  const edges = tasks.flatMap(({ id }) => before.get(id).filter((other) => layerOf.get(other) < layerOf.get(id)).map((other) => ({ from: other, to: id, path: curve(chain(other, id, layerOf), centres) })));
  const right = Math.max(0, ...[...nodes.values()].map(({ x }) => x + NODE.width));
  return { width: right + MARGIN, height: rows.length * (NODE.height + GAP.y) - GAP.y + 2 * MARGIN, layers: rows.map((row) => row.filter((id) => known.has(id))), nodes, edges };
}

// The longest way to each task. What waits for itself in a circle is as deep as its way in.
function layersOf(tasks, before) {
  const layers = new Map();
  const visit = (id, path) => {
    if (layers.has(id)) return layers.get(id);
    if (path.has(id)) return -1;
    path.add(id);
    const depth = 1 + Math.max(-1, ...before.get(id).map((other) => visit(other, path)));
    path.delete(id);
    layers.set(id, depth);
    return depth;
  };
  for (const { id } of tasks) visit(id, new Set());
  return layers;
}

const bend = (from, to, layer) => `${from}\u0000${to}\u0000${layer}`;

// The points that an edge passes, one in each layer.
function chain(from, to, layerOf) {
  const [first, last] = [layerOf.get(from), layerOf.get(to)];
  const points = [{ id: from, layer: first }];
  for (let layer = first + 1; layer < last; layer += 1) points.push({ id: bend(from, to, layer), layer });
  return [...points, { id: to, layer: last }];
}

function withBends(tasks, before, layerOf) {
  const rows = Array.from({ length: Math.max(0, ...layerOf.values()) + 1 }, () => []);
  const links = [];
  for (const { id } of tasks) rows[layerOf.get(id)].push(id);
  for (const { id } of tasks) {
    for (const other of before.get(id)) {
      if (layerOf.get(other) >= layerOf.get(id)) continue;
      const points = chain(other, id, layerOf);
      points.slice(1, -1).forEach(({ id: point, layer }) => rows[layer].push(point));
      points.slice(1).forEach((point, index) => links.push([points[index].id, point.id]));
    }
  }
  return { rows: tasks.length ? rows : [], links };
}

function neighboursOf(links) {
  const up = new Map();
  const down = new Map();
  for (const [above, below] of links) {
    up.set(below, [...(up.get(below) ?? []), above]);
    down.set(above, [...(down.get(above) ?? []), below]);
  }
  return { up, down };
}

const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

// Each layer in the order of its neighbours' places, down and up again: fewer edges cross.
function sort(rows, links) {
  const { up, down } = neighboursOf(links);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    const order = isDown ? rows.keys() : [...rows.keys()].reverse();
    for (const layer of order) {
      const beside = rows[layer + (isDown ? -1 : 1)];
      if (!beside) continue;
      const places = new Map(beside.map((id, at) => [id, at]));
      const wish = new Map(rows[layer].map((id, at) => {
        const near = (isDown ? up : down).get(id) ?? [];
        return [id, near.length ? mean(near.map((other) => places.get(other))) : at];
      }));
      rows[layer].sort((one, other) => wish.get(one) - wish.get(other));
    }
  }
}

const isBend = (id) => id.includes("\u0000");

const widthOf = (id) => (isBend(id) ? BEND_WIDTH : NODE.width);

// The middle of each point: near its neighbours, none over another.
function placed(rows, links) {
  const { up, down } = neighboursOf(links);
  const centres = new Map();
  for (const row of rows) spread(row, row.map((_, at) => at * (NODE.width + GAP.x)), centres);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (const row of isDown ? rows : [...rows].reverse()) {
      const wishes = row.map((id) => {
        const near = (isDown ? up : down).get(id) ?? [];
        return near.length ? mean(near.map((other) => centres.get(other))) : centres.get(id);
      });
      spread(row, wishes, centres);
    }
  }
  const left = Math.min(...[...centres].map(([id, x]) => x - widthOf(id) / 2));
  for (const [id, x] of centres) centres.set(id, Math.round(x - left + MARGIN));
  return centres;
}

// As near to its wishes as a row can stand (least squares, by pooling who would stand too close).
function spread(row, wishes, centres) {
  const offsets = [];
  row.forEach((id, at) => offsets.push(at === 0 ? 0 : offsets[at - 1] + (widthOf(row[at - 1]) + widthOf(id)) / 2 + GAP.x));
  const pools = [];
  row.forEach((_, at) => {
    let pool = { sum: wishes[at] - offsets[at], count: 1 };
    while (pools.length && pools.at(-1).sum / pools.at(-1).count > pool.sum / pool.count) {
      const { sum, count } = pools.pop();
      pool = { sum: pool.sum + sum, count: pool.count + count };
    }
    pools.push(pool);
  });
  let at = 0;
  for (const { sum, count } of pools) for (let n = 0; n < count; n += 1, at += 1) centres.set(row[at], sum / count + offsets[at]);
}

// Down from the foot of one to the head of the next, through the bends between.
function curve(points, centres) {
  const top = (layer) => MARGIN + layer * (NODE.height + GAP.y);
  const [first] = points;
  let path = `M${centres.get(first.id)} ${top(first.layer) + NODE.height}`;
  for (let at = 1; at < points.length; at += 1) {
    const { id, layer } = points[at];
    const from = { x: centres.get(points[at - 1].id), y: top(layer - 1) + NODE.height };
    const to = { x: centres.get(id), y: top(layer) };
    const half = (to.y - from.y) / 2;
    path += `C${from.x} ${from.y + half} ${to.x} ${to.y - half} ${to.x} ${to.y}`;
    if (isBend(id)) path += `V${to.y + NODE.height}`;
  }
  return path;
}

// Whom an arrow key leads to: along the edges up and down, to the side within the layer. Null if there is nobody.
export function neighbour(layout, tasks, id, key) {
  const { layer, at } = layout.nodes.get(id);
  if (key === "ArrowLeft" || key === "ArrowRight") return layout.layers[layer][at + (key === "ArrowLeft" ? -1 : 1)] ?? null;
  const beside = layout.edges.filter((edge) => (key === "ArrowDown" ? edge.from : edge.to) === id).map((edge) => (key === "ArrowDown" ? edge.to : edge.from));
  const x = layout.nodes.get(id).x;
  return beside.toSorted((one, other) => Math.abs(layout.nodes.get(one).x - x) - Math.abs(layout.nodes.get(other).x - x))[0] ?? null;
}

// A text in lines of so many letters; the last one says that there is more.
export function linesOf(text, letters, most) {
  const lines = [""];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const line = lines.at(-1);
    if (!line) lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= letters) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  const shown = lines.slice(0, most).map((line) => (line.length > letters ? `${line.slice(0, letters - 1)}…` : line));
  if (lines.length > most && !shown.at(-1).endsWith("…")) shown[most - 1] = `${shown[most - 1].slice(0, letters - 1)}…`;
  return shown;
}
