// The plan as a graph: tasks as cards, edges from what a task waits for. It fits, is moved and made larger, and is walked by keys.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { statusWords } from "../activity.js";
import { agentLabel } from "../agents.js";
import { Icon } from "../components/icons.js";
import { MARKS } from "../components/state_icon.js";
import { t, tn } from "../i18n.js";
import { NODE, layoutOf, linesOf, neighbour } from "./layout.js";

const LETTERS = 20; // of one line of a card, also in a wide font
const LEAST_ZOOM = 0.25;
const MOST_ZOOM = 2;
const READABLE_ZOOM = 0.8; // a graph that would be smaller is cut off, and moved
const ZOOM_STEP = 1.25;

export function PlanGraph({ rows, chosen, choose }) {
  const shape = rows.map(({ id, dependsOn }) => `${id}:${dependsOn.join(",")}`).join(";");
  const layout = useMemo(() => layoutOf(rows), [shape]);
  const frame = useRef(null);
  const { view, zoom, fit, mover } = useView(frame, layout);
  const [focused, setFocused] = useState(null);
  const current = layout.nodes.has(focused) ? focused : (rows.find(({ status }) => status === "running") ?? rows[0]).id;

  function onKeyDown(event) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(current);
      return;
    }
    if (event.key === "+" || event.key === "-" || event.key === "0") {
      event.preventDefault();
      return void (event.key === "0" ? fit() : zoom(event.key === "+" ? ZOOM_STEP : 1 / ZOOM_STEP));
    }
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const to = neighbour(layout, rows, current, event.key);
    if (!to) return;
    setFocused(to);
    const node = frame.current.querySelector(`[data-node="${CSS.escape(to)}"]`);
    node.focus({ preventScroll: true });
    mover.reveal(layout.nodes.get(to));
  }

  const edgeOf = (edge) => (rows.find(({ id }) => id === edge.from).status === "completed" ? "is-done" : "");
  return html`<div class="graph" style=${{ "--shape": `${layout.width} / ${layout.height}`, "--tall": `${layout.height}px` }}>
    <svg class="graph-canvas" ref=${frame} viewBox=${view} role="group" aria-label=${t("Plan as a graph: arrows lead along its edges, Enter opens a task")} onKeyDown=${onKeyDown} ...${mover.handlers}>
      <g class="graph-edges" aria-hidden="true">${layout.edges.map((edge) => html`<path key=${`${edge.from} ${edge.to}`} class=${edgeOf(edge)} d=${edge.path} />`)}</g>
      ${rows.map((row) => html`<${Node} key=${row.id} row=${row} at=${layout.nodes.get(row.id)} isCurrent=${row.id === current} isChosen=${row.id === chosen} focus=${() => setFocused(row.id)} choose=${() => choose(row.id)} />`)}
    </svg>
    <div class="graph-tools" role="group" aria-label=${t("Size of the graph")}>
      <button type="button" class="icon-button small" onClick=${() => zoom(1 / ZOOM_STEP)} aria-label=${t("Smaller")} title=${t("Smaller")}><${Icon} name="minus" /></button>
      <button type="button" class="icon-button small" onClick=${() => zoom(ZOOM_STEP)} aria-label=${t("Larger")} title=${t("Larger")}><${Icon} name="plus" /></button>
      <button type="button" class="icon-button small" onClick=${fit} aria-label=${t("All of it")} title=${t("All of it")}><${Icon} name="fit" /></button>
    </div>
  </div>`;
}

function Node({ row, at, isCurrent, isChosen, focus, choose }) {
  const { number, agent, task, status, after } = row;
  const waits = after.length ? tn("after task {tasks}", "after tasks {tasks}", after.length, { tasks: after.join(", ") }) : t("at once");
  const words = t("Task {number}, {agent}: {task}. {status}, {waits}", { number, agent: agentLabel(agent), task, status: statusWords(status), waits });
  const lines = linesOf(task, LETTERS, 2);
  return html`<g class=${`graph-node is-${Object.hasOwn(MARKS, status) || status === "running" ? status : "pending"}`} data-node=${row.id} data-status=${status} role="button" tabindex=${isCurrent ? 0 : -1} aria-label=${words} aria-pressed=${isChosen ? "true" : "false"}
    transform=${`translate(${at.x} ${at.y})`} onClick=${choose} onFocus=${focus}>
    <rect class="graph-card" width=${NODE.width} height=${NODE.height} rx="10" />
    <g class="graph-sign" transform="translate(10 10)" aria-hidden="true"><circle cx="8" cy="8" r="7" />${status === "running" && html`<path d="M8 1a7 7 0 0 1 7 7" />`}${Object.hasOwn(MARKS, status) && html`<path transform="translate(-2 -2)" d=${MARKS[status]} />`}</g>
    <text class="graph-agent" x="32" y="22" aria-hidden="true">${linesOf(`${number} · ${agentLabel(agent)}`, 18, 1)[0]}</text>
    ${lines.map((line, index) => html`<text key=${index} class="graph-task" x="12" y=${43 + index * 16} aria-hidden="true">${line}</text>`)}
    <text class="graph-state" x="12" y=${NODE.height - 10} aria-hidden="true">${linesOf(statusWords(status), LETTERS, 1)[0]}</text>
  </g>`;
}

// What part of the graph is seen: its middle and how large it is drawn. Whole at first, if it then can still be read.
function useView(frame, layout) {
  const [size, setSize] = useState({ width: 400, height: 320 });
  const [wished, setWished] = useState(null); // {x, y, zoom}: somebody moved it
  const held = useRef(null);

  useLayoutEffect(() => {
    const observer = new ResizeObserver((entries) => {
      const { width, height } = entries.at(-1).contentRect;
      setSize({ width: width || 400, height: height || 320 });
    });
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);

  const whole = Math.min(1.1, size.width / layout.width, size.height / layout.height);
  const readable = Math.max(whole, Math.min(READABLE_ZOOM, size.width / 240));
  const first = { zoom: readable, x: layout.width / 2, y: readable > whole ? Math.min(layout.height / 2, size.height / readable / 2) : layout.height / 2 };
  const seen = wished ?? first;
  const [width, height] = [size.width / seen.zoom, size.height / seen.zoom];
  const view = `${seen.x - width / 2} ${seen.y - height / 2} ${width} ${height}`;
  const near = (value, least, most) => Math.max(least, Math.min(most, value));
  const move = (change) => setWished((before) => {
    const next = { ...(before ?? first), ...change(before ?? first) };
    return { zoom: near(next.zoom, Math.min(LEAST_ZOOM, whole), MOST_ZOOM), x: near(next.x, 0, layout.width), y: near(next.y, 0, layout.height) };
  });
  const zoom = (factor) => move((before) => ({ zoom: before.zoom * factor }));

  useEffect(() => {
    const onWheel = (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // it scrolls the page
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300));
    };
    const element = frame.current;
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  });

  const handlers = {
    onPointerDown: (event) => {
      if (event.button === 0 && !event.target.closest("[data-node]")) held.current = { x: event.clientX, y: event.clientY };
      if (held.current) event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event) => {
      if (!held.current) return;
      const by = { x: (event.clientX - held.current.x) / seen.zoom, y: (event.clientY - held.current.y) / seen.zoom };
      held.current = { x: event.clientX, y: event.clientY };
      move((before) => ({ x: before.x - by.x, y: before.y - by.y }));
    },
    onPointerUp: () => (held.current = null),
    onPointerCancel: () => (held.current = null),
  };

  // A node that is walked to comes into view.
  function reveal({ x, y }) {
    const middle = { x: x + NODE.width / 2, y: y + NODE.height / 2 };
    const away = { x: Math.max(0, Math.abs(middle.x - seen.x) + NODE.width / 2 - width / 2), y: Math.max(0, Math.abs(middle.y - seen.y) + NODE.height / 2 - height / 2) };
    if (away.x || away.y) move((before) => ({ x: before.x + Math.sign(middle.x - before.x) * away.x, y: before.y + Math.sign(middle.y - before.y) * away.y }));
  }

  return { view, zoom, fit: () => setWished({ zoom: whole, x: layout.width / 2, y: layout.height / 2 }), mover: { handlers, reveal } };
}
