// Draws a chart with Chart.js, which is loaded when the first one is to be seen. Colours are those of the page's theme.
import { language } from "./i18n.js";

const SERIES = 8;
let loading = null;

export function loadCharts() {
  loading ??= import("../vendor/chart.js").catch((error) => {
    loading = null; // the next chart tries again
    throw error;
  });
  return loading;
}

// Colours as the canvas takes them: the browser works out each token on an element that is not drawn.
export function coloursOf(element) {
  const probe = document.createElement("span");
  probe.hidden = true;
  element.append(probe);
  const read = (token) => {
    probe.style.color = `var(${token})`;
    return getComputedStyle(probe).color;
  };
  const found = {
    series: Array.from({ length: SERIES }, (_, index) => read(`--series-${index + 1}`)),
    text: read("--text"), soft: read("--text-soft"), line: read("--line"), ground: read("--ground-raised"), raised: read("--ground-active"),
  };
  probe.remove();
  return { ...found, font: getComputedStyle(element).fontFamily };
}

const faded = (colour, share) => colour.replace(/^rgba?\(([^)]+?)(?:,\s*[\d.]+)?\)$/, (_, parts) => `rgba(${parts.split(/[,\s]+/).slice(0, 3).join(", ")}, ${share})`);

export function configOf(chart, colours, { isStill }) {
  const round = chart.kind === "pie" || chart.kind === "doughnut" || chart.kind === "polarArea";
  return {
    type: chart.kind,
    data: { labels: chart.labels, datasets: chart.series.map((series, index) => dataset(chart, series, index, colours, round)) },
    options: {
      responsive: true,
      locale: language, // figures as the rest of the page has them, whatever the browser speaks
      maintainAspectRatio: false,
      animation: isStill ? false : { duration: 250 },
      indexAxis: chart.isSideways ? "y" : "x",
      interaction: round || chart.kind === "scatter" || chart.kind === "bubble" ? { mode: "nearest", intersect: true } : { mode: "index", intersect: false },
      scales: round && chart.kind !== "polarArea" ? {} : scales(chart, colours),
      plugins: {
        legend: {
          display: round || chart.series.length > 1,
          position: "bottom",
          align: "start",
          labels: { color: colours.soft, font: { family: colours.font, size: 12 }, usePointStyle: true, pointStyle: "circle", boxWidth: 7, boxHeight: 7, padding: 14 },
        },
        tooltip: {
          backgroundColor: colours.raised, titleColor: colours.text, bodyColor: colours.text, footerColor: colours.text, borderColor: colours.line, borderWidth: 1,
          padding: 10, cornerRadius: 8, boxPadding: 5, usePointStyle: true, titleFont: { family: colours.font }, bodyFont: { family: colours.font },
        },
      },
    },
  };
}

function dataset(chart, series, index, colours, round) {
  const own = colours.series[index % SERIES];
  const colour = round ? series.values.map((_, at) => colours.series[at % SERIES]) : own;
  const line = series.kind === "line" || chart.kind === "radar";
  const few = series.values.length <= 40;
  return {
    type: series.kind,
    label: series.name,
    data: series.values,
    borderColor: round ? colours.ground : own,
    backgroundColor: line ? faded(own, 0.14) : chart.kind === "scatter" || chart.kind === "bubble" || chart.kind === "polarArea" ? [].concat(colour).map((one) => faded(one, 0.7)) : colour,
    borderWidth: line || round ? 2 : 0,
    fill: line && (series.isFilled || chart.kind === "radar"),
    pointRadius: line ? (few ? 2.5 : 0) : undefined,
    pointHoverRadius: line ? 4.5 : undefined,
    pointBackgroundColor: line ? own : undefined,
    tension: line && chart.kind === "line" ? 0.15 : 0,
    borderRadius: series.kind === "bar" ? 3 : 0,
    maxBarThickness: 56,
    yAxisID: chart.kind === "bar" || chart.kind === "line" ? (series.isSecond ? "y1" : "y") : undefined,
    spanGaps: false,
    ...(chart.isSideways && { yAxisID: undefined }),
  };
}

function scales(chart, colours) {
  const ticks = { color: colours.soft, font: { family: colours.font, size: 11 }, maxRotation: 50, autoSkipPadding: 12 };
  const titled = ({ title }) => ({ display: title !== "", text: title, color: colours.soft, font: { family: colours.font, size: 12 } });
  const bounds = ({ min, max }) => ({ ...(min !== null && { min }), ...(max !== null && { max }) });
  if (chart.kind === "radar" || chart.kind === "polarArea") {
    return { r: { ...bounds(chart.r), grid: { color: colours.line }, angleLines: { color: colours.line }, pointLabels: { color: colours.soft, font: { family: colours.font, size: 12 } }, ticks: { ...ticks, backdropColor: "transparent" } } };
  }
  const points = chart.kind === "scatter" || chart.kind === "bubble";
  const quiet = { display: false };
  const along = { type: points ? "linear" : "category", stacked: chart.isStacked, grid: points ? { color: colours.line } : quiet, border: { color: colours.line }, ticks };
  const across = { type: "linear", stacked: chart.isStacked, grid: { color: colours.line }, border: quiet, ticks, beginAtZero: chart.kind === "bar" };
  const [x, y] = chart.isSideways ? [across, along] : [along, across];
  const second = chart.series.some(({ isSecond }) => isSecond) && !chart.isSideways;
  return {
    x: { ...x, title: titled(chart.x), ...(chart.isSideways || points ? bounds(chart.x) : {}) },
    y: { ...y, title: titled(chart.y), ...(chart.isSideways ? {} : bounds(chart.y)) },
    ...(second && { y1: { ...across, position: "right", grid: quiet } }),
  };
}
