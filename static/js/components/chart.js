// A chart in an answer: drawn when it comes into view, in the page's colours; its figures as a table; to be saved as PNG or CSV.
import { html, useEffect, useMemo, useRef, useState } from "../../vendor/preact.js";
import { coloursOf, configOf, loadCharts } from "../chart_drawing.js";
import { csvOf, describe, fileName, isRound, readChart, tableOf } from "../chart_spec.js";
import { language, t } from "../i18n.js";
import { fileHref } from "../places.js";
import { Icon } from "./icons.js";

const PNG_WIDTH = 1600;

export function Chart({ entry, conversationId }) {
  const chart = useMemo(() => readChart(entry.spec, entry.title), [entry.spec, entry.title]);
  const [asTable, setAsTable] = useState(false);
  const drawing = useRef(null);
  if (!chart) return html`<p class="mark"><${Icon} name="chart" />${t("A chart cannot be shown: its description is not whole.")}</p>`;
  const picture = entry.path ? fileHref({ scopeId: conversationId, path: entry.path }) : null;
  return html`<figure class="chart" data-kind=${chart.kind}>
    <figcaption class="chart-head"><span class="chart-title" dir="auto">${chart.title || t("Chart")}</span>
      <span class="chart-tools">
        <button type="button" class="quiet-button" aria-pressed=${asTable ? "true" : "false"} onClick=${() => setAsTable(!asTable)}>${asTable ? t("Chart") : t("Table")}</button>
        <button type="button" class="quiet-button" onClick=${() => save(new Blob([csvOf(tableOf(chart))], { type: "text/csv" }), fileName(chart.title, "csv"))}><span aria-hidden="true">CSV</span><span class="visually-hidden">${t("Save the figures as CSV")}</span></button>
        <button type="button" class="quiet-button" disabled=${asTable} onClick=${() => drawing.current?.save()}><span aria-hidden="true">PNG</span><span class="visually-hidden">${t("Save the chart as PNG")}</span></button>
        ${picture && html`<a class="icon-button small" href=${picture} download aria-label=${t("Download {name}", { name: entry.path })} title=${t("Download {name}", { name: entry.path })}><${Icon} name="download" /></a>`}
      </span>
    </figcaption>
    ${asTable ? html`<${Table} chart=${chart} />` : html`<${Drawing} chart=${chart} handle=${drawing} />`}
  </figure>`;
}

function Table({ chart }) {
  const { head, rows } = tableOf(chart);
  return html`<div class="table-frame chart-table" tabindex="0" role="region" aria-label=${t("Figures of the chart")}><table>
    <thead><tr>${head.map((name, index) => (index === 0 && !name ? html`<td></td>` : html`<th scope="col" dir="auto">${name}</th>`))}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((value, index) => (index === 0 ? html`<th scope="row" dir="auto">${value}</th>` : html`<td>${value === null ? "" : typeof value === "number" ? value.toLocaleString(language, { maximumFractionDigits: 6 }) : value}</td>`))}</tr>`)}</tbody>
  </table></div>`;
}

function Drawing({ chart, handle }) {
  const frame = useRef(null);
  const [failed, setFailed] = useState(null);
  const words = useMemo(() => describe(chart), [chart]);

  useEffect(() => {
    let shown = null;
    let current = true;

    async function draw() {
      try {
        const { Chart: Drawn } = await loadCharts();
        if (!current) return;
        const canvas = frame.current.querySelector("canvas");
        shown = new Drawn(canvas, configOf(chart, coloursOf(frame.current), { isStill: isStill() }));
        frame.current.dataset.drawn = "true";
        handle.current = { save: () => savePicture(Drawn, chart, frame.current) };
      } catch (error) {
        if (current) setFailed(t("The chart could not be drawn ({why}). Its figures are under Table.", { why: error.message }));
      }
    }

    // In other colours once the theme is another one.
    function recolour() {
      if (!shown) return;
      const fresh = configOf(chart, coloursOf(frame.current), { isStill: true });
      shown.options = fresh.options;
      fresh.data.datasets.forEach((dataset, index) => Object.assign(shown.data.datasets[index], dataset));
      shown.update("none");
    }

    const seen = new IntersectionObserver((entries) => {
      if (!entries.at(-1).isIntersecting) return;
      seen.disconnect();
      draw();
    }, { rootMargin: "400px 0px" });
    seen.observe(frame.current);
    const themed = new MutationObserver(recolour);
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", recolour);
    return () => {
      current = false;
      handle.current = null;
      seen.disconnect();
      themed.disconnect();
      dark.removeEventListener("change", recolour);
      shown?.destroy();
    };
  }, [chart]);

  if (failed) return html`<p class="mark" role="alert"><${Icon} name="warning" />${failed}</p>`;
  return html`<div class=${`chart-frame ${isRound(chart) ? "is-round" : ""}`} ref=${frame}><canvas role="img" aria-label=${words}></canvas></div>`;
}

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Drawn anew at a size of its own, on the page's ground: transparent pictures are unreadable elsewhere.
function savePicture(Drawn, chart, frame) {
  const colours = coloursOf(frame);
  const canvas = document.createElement("canvas");
  canvas.width = PNG_WIDTH / 2; // of the page's pixels: it is drawn at twice their number
  canvas.height = Math.round(canvas.width * 0.56);
  const config = configOf(chart, colours, { isStill: true });
  const ground = { id: "ground", beforeDraw: ({ ctx, width, height }) => Object.assign(ctx, { fillStyle: colours.ground }).fillRect(0, 0, width, height) };
  const scaled = { ...config, plugins: [ground], options: { ...config.options, responsive: false, devicePixelRatio: 2, layout: { padding: 24 } } };
  const drawn = new Drawn(canvas, scaled);
  canvas.toBlob((blob) => {
    drawn.destroy();
    if (blob) save(blob, fileName(chart.title, "png"));
  }, "image/png");
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
