// Bundles Sucrase into one file for the sandbox, its licence beside it.
import { copyFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../../../agents/sandbox/library/typescript");

await build({
  entryPoints: [join(here, "strip.mjs")],
  outfile: join(target, "strip.cjs"),
  bundle: true,
  minify: true,
  platform: "node",
  format: "cjs",
  target: "node18",
  banner: { js: "// Made by deploy/sandbox/typescript/build.mjs of sucrase 3.35.1 (MIT, see LICENSE)." },
});
copyFileSync(join(here, "node_modules/sucrase/LICENSE"), join(target, "LICENSE"));
