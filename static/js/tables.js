// A table of an answer as text for a spreadsheet. What a model wrote must not become a formula there. Pure but for reading cells.

const FORMULA = /^[=@+\-\t\r]/;
const NUMBER = /^[+-]?[\d.,\s]*\d\s?%?$/;

// [[text, …], …] of a <table>; of a formula its source. The number of a source would be read as a part of the figure before it.
export function rowsOf(table) {
  return [...table.rows].map((row) => [...row.cells].map(textOf));
}

function textOf(cell) {
  const copy = cell.cloneNode(true);
  for (const formula of copy.querySelectorAll(".formula")) formula.replaceWith(formula.dataset.source);
  for (const unseen of copy.querySelectorAll(".visually-hidden, .citation")) unseen.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

const harmless = (text) => (FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text);

export function asCsv(rows) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((row) => row.map((text) => quoted(harmless(text))).join(",")).join("\r\n");
}

export function asTsv(rows) {
  return rows.map((row) => row.map(harmless).join("\t")).join("\n");
}
