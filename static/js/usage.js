// The page of usage: draws the table of days as a chart, and offers the days of the reader's own time zone. Without it
// the page says the same in its tables.
import { coloursOf, configOf, loadCharts } from "./chart_drawing.js";
import { language, t } from "./i18n.js";

const axis = { title: "", min: null, max: null };

// What the rows of the table say, as a chart for chart_drawing.js. `measure`: "cost" or "tokens". An unknown cost is a gap.
export function chartOf(days, measure) {
  const series = measure === "cost"
    ? [{ name: t("Cost in $"), values: days.map(({ cost }) => cost) }]
    : [{ name: t("Tokens read"), values: days.map(({ read }) => read) }, { name: t("Tokens written"), values: days.map(({ written }) => written) }];
  return {
    kind: "bar", title: "", labels: days.map(({ label }) => label), isStacked: true, isSideways: false, x: axis, y: axis, r: axis,
    series: series.map((one) => ({ ...one, kind: "bar", isFilled: false, isSecond: false })),
  };
}

// The address with another time zone; the range stays what it is.
export function withZone(address, zone) {
  const url = new URL(address);
  url.searchParams.set("time_zone", zone);
  return url.href;
}

const rowsOf = (table) => Array.from(table.tBodies[0].rows, ({ dataset }) => ({
  label: dataset.label, cost: dataset.cost === "" ? null : Number(dataset.cost), read: Number(dataset.read), written: Number(dataset.written),
}));

// As the tables say it, whatever the language.
const money = (value) => `$${value.toLocaleString(language, { minimumFractionDigits: 2, maximumFractionDigits: value < 0.1 ? 4 : 2 })}`;
const brief = (value) => new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 }).format(value);

function configured(days, measure, colours, isStill) {
  const config = configOf(chartOf(days, measure), colours, { isStill });
  const { y } = config.options.scales;
  const shown = measure === "cost" ? money : (value) => value.toLocaleString(language);
  y.ticks = { ...y.ticks, maxTicksLimit: 6, callback: measure === "cost" ? money : brief };
  config.options.scales.x.ticks = { ...config.options.scales.x.ticks, maxRotation: 0 };
  config.options.plugins.tooltip.callbacks = { label: ({ dataset, raw }) => `${dataset.label}: ${raw === null ? t("unknown") : shown(raw)}` };
  return config;
}

async function begin(page) {
  const frame = page.querySelector("[data-chart]");
  offerZone(page);
  closeByItself(page.querySelector(".usage-custom"));
  if (!frame) return;
  const days = rowsOf(page.querySelector("[data-days]"));
  const canvas = frame.querySelector("canvas");
  const buttons = [...frame.querySelectorAll("[data-show]")];
  let measure = frame.dataset.measure;
  let drawn = null;
  frame.hidden = false;
  mark();

  function mark() {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.show === measure));
  }

  const { Chart } = await loadCharts();

  function draw({ isStill }) {
    drawn?.destroy();
    drawn = new Chart(canvas, configured(days, measure, coloursOf(frame), isStill));
    frame.dataset.drawn = measure;
  }

  for (const button of buttons) {
    button.addEventListener("click", () => {
      measure = button.dataset.show;
      mark();
      draw({ isStill: isCalm() });
    });
  }
  // In other colours once the theme is another one.
  const again = () => draw({ isStill: true });
  new MutationObserver(again).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  draw({ isStill: isCalm() });
}

const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// What lies over the page goes with Escape, and with a click beside it.
function closeByItself(details) {
  if (!details) return;
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    details.querySelector("summary").focus();
  });
  document.addEventListener("click", ({ target }) => {
    if (!details.contains(target)) details.open = false;
  });
}

function offerZone(page) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const offer = page.querySelector("[data-zone-offer]");
  if (!offer || !zone || zone === page.dataset.timeZone) return;
  const link = offer.querySelector("a");
  link.href = withZone(location.href, zone);
  link.textContent = t("Use {zone}", { zone });
  offer.hidden = false;
}

const page = globalThis.document?.querySelector("[data-usage]");
if (page) begin(page).catch(() => page.querySelector("[data-chart]")?.setAttribute("hidden", ""));
