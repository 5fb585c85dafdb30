// `node --test tests/page/` for who has Node; the browser runs the same cases in test_links.py.
import test from "node:test";
import { cases } from "./links_cases.mjs";

for (const [name, run] of Object.entries(cases)) test(name, run);
