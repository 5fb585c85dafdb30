// Bundles the page's libraries into static/vendor, one ES module each, with their licences beside them.
// Run by `make vendor` after `npm ci`; the result is committed, so nobody else needs Node.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../../static/vendor");
const modules = join(here, "node_modules");

const LANGUAGES = [
  "bash", "c", "cpp", "csharp", "css", "diff", "go", "java", "javascript",
  "json", "markdown", "python", "rust", "sql", "typescript", "xml", "yaml",
];

const CHART_PARTS = [
  "BarController", "BubbleController", "DoughnutController", "LineController", "PieController", "PolarAreaController", "RadarController",
  "ScatterController", "ArcElement", "BarElement", "LineElement", "PointElement", "CategoryScale", "LinearScale", "RadialLinearScale",
  "Filler", "Legend", "Tooltip",
];

// Each bundle: the packages in it and the text of its entry.
const BUNDLES = {
  "preact.js": {
    packages: ["preact", "@preact/signals", "@preact/signals-core", "htm"],
    entry: `
      export { h, render, Fragment, createContext } from "preact";
      export { useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
      export { signal, computed, effect, batch, useSignal, useComputed } from "@preact/signals";
      import { h } from "preact";
      import htm from "htm";
      export const html = htm.bind(h);
    `,
  },
  "markdown.js": {
    packages: ["marked", "dompurify"],
    entry: `
      export { Marked } from "marked";
      export { default as DOMPurify } from "dompurify";
    `,
  },
  "chart.js": {
    packages: ["chart.js", "@kurkle/color"],
    entry: [
      `import { Chart, ${CHART_PARTS.join(", ")} } from "chart.js";`,
      `Chart.register(${CHART_PARTS.join(", ")});`,
      `export { Chart };`,
    ].join("\n"),
  },
  "math.js": {
    packages: ["temml"],
    // Nothing of a formula may set an address, a size beyond the line, or expand without end.
    entry: `
      import temml from "temml";
      const LIMITS = { throwOnError: true, strict: false, trust: false, maxExpand: 200, maxSize: [20, 20] };
      export const mathTree = (source, isDisplay) => temml.__renderToMathMLTree(source, { ...LIMITS, displayMode: isDisplay }).toNode();
    `,
  },
  "highlight.js": {
    packages: ["highlight.js"],
    entry: [
      `import hljs from "highlight.js/lib/core";`,
      ...LANGUAGES.map((name) => `import ${name} from "highlight.js/lib/languages/${name}";`),
      ...LANGUAGES.map((name) => `hljs.registerLanguage("${name}", ${name});`),
      `export default hljs;`,
    ].join("\n"),
  },
};

function manifest(name) {
  return JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));
}

function licence(name) {
  const file = readdirSync(join(modules, name)).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`package '${name}' has no licence file; add it by hand or choose another package`);
  return readFileSync(join(modules, name, file), "utf8").trim();
}

async function bundle(file, { packages, entry }) {
  const named = packages.map((name) => `${name} ${manifest(name).version} (${manifest(name).license})`).join(", ");
  const result = await build({
    stdin: { contents: entry, resolveDir: here, loader: "js" },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    write: false,
    banner: { js: `/* ${named}. Licences: LICENSES.md. Made by make vendor; do not edit. */` },
  });
  const text = result.outputFiles[0].text;
  writeFileSync(join(target, file), text);
  hashes[file] = createHash("sha256").update(text).digest("hex");
  console.log(`${file}: ${text.length} bytes, ${gzipSync(text, { level: 9 }).length} gzipped`);
}

// What `make audit` holds the files against.
const hashes = {};
for (const [file, content] of Object.entries(BUNDLES)) await bundle(file, content);
writeFileSync(join(here, "hashes.json"), JSON.stringify(hashes, null, 2) + "\n");

const packages = [...new Set(Object.values(BUNDLES).flatMap((content) => content.packages))];
const rows = packages.map((name) => {
  const file = Object.keys(BUNDLES).find((key) => BUNDLES[key].packages.includes(name));
  return `| ${name} | ${manifest(name).version} | ${manifest(name).license} | ${file} |`;
});
const texts = packages.map((name) => `## ${name} ${manifest(name).version}\n\n\`\`\`text\n${licence(name)}\n\`\`\``);
writeFileSync(
  join(target, "LICENSES.md"),
  ["# Vendored libraries", "", "Made by `make vendor` (deploy/vendor-js).", "",
    "| package | version | licence | in |", "|---|---|---|---|", ...rows, "", texts.join("\n\n"), ""].join("\n"),
);
