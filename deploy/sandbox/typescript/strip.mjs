// `strip.cjs program.mts`: writes program.mjs beside it, without the types. What is wrong is told with its line.
import { readFileSync, writeFileSync } from "node:fs";
import { transform } from "sucrase";

const path = process.argv[2];
try {
  const { code } = transform(readFileSync(path, "utf8"), {
    transforms: ["typescript"],
    filePath: path,
    disableESTransforms: true,
    preserveDynamicImport: true,
  });
  writeFileSync(path.replace(/\.mts$/, ".mjs"), code);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
