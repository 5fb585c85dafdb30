// A chart as a model's program described it, made safe to draw: only kinds, labels, figures and a few choices are taken over;
// no function, no address and no colour of theirs. Pure.
import { t, tn } from "./i18n.js";

const KINDS = ["bar", "line", "pie", "doughnut", "scatter", "bubble", "radar", "polarArea"];
const MOST_SERIES = 24;
const MOST_POINTS = 2_000;
const ROUND = new Set(["pie", "doughnut", "polarArea"]);

export const isRound = ({ kind }) => ROUND.has(kind);

// {kind, title, labels, series: [{name, kind, values, isFilled, second}], isStacked, isSideways, x, y, hasLegend}, or null.
export function readChart(spec, title = "") {
  const kind = KINDS.includes(spec?.type) ? spec.type : null;
  const datasets = Array.isArray(spec?.data?.datasets) ? spec.data.datasets.filter(isObject).slice(0, MOST_SERIES) : [];
  if (!kind || !datasets.length) return null;
  const options = isObject(spec.options) ? spec.options : {};
  const labels = Array.isArray(spec.data.labels) ? spec.data.labels.slice(0, MOST_POINTS).map(words) : [];
  const series = datasets.map((dataset, index) => ({
    name: words(dataset.label) || (datasets.length > 1 ? t("Series {number}", { number: index + 1 }) : ""),
    kind: ["bar", "line"].includes(kind) && ["bar", "line"].includes(dataset.type) ? dataset.type : kind,
    values: (Array.isArray(dataset.data) ? dataset.data : []).slice(0, MOST_POINTS).map((value) => figure(value, kind)),
    isFilled: Boolean(dataset.fill),
    isSecond: dataset.yAxisID === "y1",
  }));
  if (!series.some(({ values }) => values.some((value) => value !== null))) return null;
  const { x = {}, y = {}, r = {} } = isObject(options.scales) ? options.scales : {};
  return {
    kind,
    title: words(title) || words(options.plugins?.title?.text) || words(spec.title),
    labels: labels.length || !takesLabels(kind) ? labels : countedUp(series),
    series,
    isStacked: Boolean(x?.stacked || y?.stacked || options.stacked),
    isSideways: kind === "bar" && options.indexAxis === "y",
    x: axis(x),
    y: axis(y),
    r: axis(r),
  };
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

const takesLabels = (kind) => kind !== "scatter" && kind !== "bubble";

const countedUp = (series) => Array.from({ length: Math.max(...series.map(({ values }) => values.length)) }, (_, index) => String(index + 1));

function words(value) {
  if (Array.isArray(value)) return value.map(words).join(" ");
  return typeof value === "string" || typeof value === "number" ? String(value).slice(0, 200) : "";
}

const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : null);

// A number, a point, or null for what is missing. A bar or line may have points whose x is a label.
function figure(value, kind) {
  if (!isObject(value)) return Array.isArray(value) && value.length === 2 && !takesLabels(kind) ? point({ x: value[0], y: value[1] }, kind) : number(value);
  return takesLabels(kind) ? number(value.y) : point(value, kind);
}

function point({ x, y, r }, kind) {
  const found = { x: number(x), y: number(y), ...(kind === "bubble" && { r: Math.min(40, Math.max(1, number(r) ?? 5)) }) };
  return found.x === null || found.y === null ? null : found;
}

function axis(given) {
  if (!isObject(given)) return { title: "", min: null, max: null };
  return { title: words(given.title?.text ?? given.title), min: number(given.min), max: number(given.max) };
}

// ── the same as a table ──

// {head, rows}: a row for each label or point, a column for each series.
export function tableOf(chart) {
  if (!takesLabels(chart.kind)) {
    const sized = chart.kind === "bubble";
    const head = [t("Series"), chart.x.title || "x", chart.y.title || "y", ...(sized ? [t("Size")] : [])];
    const rows = chart.series.flatMap(({ name, values }) => values.filter(Boolean).map(({ x, y, r }) => [name || t("Points"), x, y, ...(sized ? [r] : [])]));
    return { head, rows };
  }
  const count = Math.max(chart.labels.length, ...chart.series.map(({ values }) => values.length));
  const head = [chart.x.title || "", ...chart.series.map(({ name }) => name || chart.y.title || chart.title || t("Value"))];
  const rows = Array.from({ length: count }, (_, at) => [chart.labels[at] ?? String(at + 1), ...chart.series.map(({ values }) => values[at] ?? null)]);
  return { head, rows };
}

// For a spreadsheet. A text that it would take for a formula is kept a text.
export function csvOf({ head, rows }) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) && !Number.isFinite(Number(value)) ? `'${value}` : value;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

const DRAWN = {
  bar: () => t("Bar chart"),
  line: () => t("Line chart"),
  pie: () => t("Pie chart"),
  doughnut: () => t("Doughnut chart"),
  scatter: () => t("Scatter chart"),
  bubble: () => t("Bubble chart"),
  radar: () => t("Radar chart"),
  polarArea: () => t("Polar area chart"),
};

// In a sentence, for who does not see it.
export function describe(chart) {
  const { rows } = tableOf(chart);
  const named = chart.series.map(({ name }) => name).filter(Boolean);
  const values = tn("{count} value", "{count} values", rows.length);
  const counted = chart.series.length > 1 ? t("{values} in {series} series", { values, series: chart.series.length }) : values;
  const kind = DRAWN[chart.kind]();
  return [chart.title ? `${kind}: ${chart.title}` : kind, named.slice(0, 6).join(", "), counted].filter(Boolean).map((part) => `${part}.`).join(" ");
}

// A name for a file, from a title of any kind.
export const fileName = (title, ending) => `${title.normalize("NFC").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60).toLowerCase() || "chart"}.${ending}`;
