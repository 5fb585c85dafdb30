// What the documents' pages say, from what the server told them.
import { marked, number, shapeOf, stagesOf, timesOf, wantedOf, whyOf } from "../../static/js/documents_trace.js";
import { pastedFiles } from "../../static/js/files_upload.js";
import { MOST_FILES, asDocument, createUploads, drawnOf, faultOf, filesOf, outcomeOf, sizeWords, summaryOf } from "../../static/js/documents_upload.js";

function same(found, wanted) {
  const [one, other] = [found, wanted].map((value) => JSON.stringify(value));
  if (one !== other) throw new Error(`${one} is not ${other}`);
}

// Uploads of which the server says in turn what `answers` has: [status, body], then always the last of them.
async function sent(files, answers, options = {}) {
  const real = globalThis.XMLHttpRequest;
  let count = 0;
  globalThis.XMLHttpRequest = class {
    upload = {};
    open() {}
    setRequestHeader() {}
    abort() {}
    send() {
      [this.status, this.response] = answers[Math.min(count, answers.length - 1)];
      count += 1;
      setTimeout(() => this.onload());
    }
  };
  try {
    const uploads = createUploads({ limitBytes: 1_000, added: () => undefined, ...options });
    uploads.add(files);
    await ended(uploads);
    return { uploads, posts: () => count };
  } finally {
    globalThis.XMLHttpRequest = real;
  }
}

async function ended(uploads) {
  while (uploads.isBusy.value) await new Promise((resolve) => setTimeout(resolve));
}

const files = (count) => Array.from({ length: count }, (_, index) => new File(["x"], `${index}.md`));
const states = (uploads) => uploads.items.value.map(({ state }) => state);

const TRACE = {
  unheard_of: { a: 1 },
  fused: [{ chunk_id: "c1", rank: 1 }],
  keyword: [{ chunk_id: "c2", rank: 1 }, { chunk_id: "c1", rank: 2 }],
  dense: [],
  took_ms: { keyword: 4, passages: 1, all: 6.5 },
};

export const cases = {
  "an upload ends as the server says": () => {
    same(outcomeOf(201, { doc_id: "d" }), { state: "added", documentId: "d" });
    same(outcomeOf(200, { doc_id: "d", filename: "a.pdf" }), { state: "known", documentId: "d", knownAs: "a.pdf" });
    same(outcomeOf(413, { error: { message: "Too big." } }), { state: "failed", error: "Too big." });
    same(outcomeOf(502, null).error, "The server answered with status 502. Try again in a moment.");
    same(outcomeOf(403, { error: { code: "not_authenticated", message: "?" } }).error.startsWith("You are signed out"), true);
  },
  "a file of a dropped folder that cannot be read is told, and the others are taken": async () => {
    const entry = (name, file) => ({ name, isFile: true, fullPath: `/papers/${name}`, file });
    const inside = [entry("a.pdf", (take) => take(new File(["x"], "a.pdf"))), entry("b.pdf", (_take, refuse) => refuse(new DOMException("NotReadableError"))), entry("c.pdf", (take) => take(new File(["x"], "c.pdf")))];
    const lots = [inside, []];
    const folder = { name: "papers", isDirectory: true, fullPath: "/papers", createReader: () => ({ readEntries: (take) => take(lots.shift()) }) };
    const found = await filesOf({ items: [{ webkitGetAsEntry: () => folder }], files: [] });
    same(found.map(({ name, within }) => [name, within]), ["a.pdf", "b.pdf", "c.pdf"].map((name) => [name, `papers/${name}`]));
    same(found.map((file) => faultOf(file, 10)?.slice(0, 31) ?? null), [null, "The browser could not read it. ", null]);
  },
  "a folder is taken whole, however many files it has": async () => {
    const inside = files(830).map((file) => ({ name: file.name, isFile: true, fullPath: `/share/${file.name}`, file: (take) => take(file) }));
    const lots = [inside.slice(0, 100), inside.slice(100), []];
    const folder = { name: "share", isDirectory: true, fullPath: "/share", createReader: () => ({ readEntries: (take) => take(lots.shift()) }) };
    const found = await filesOf({ items: [{ webkitGetAsEntry: () => folder }], files: [] });
    const { uploads } = await sent(found, [[201, { doc_id: "d" }]]);
    same([found.length, uploads.items.value.length, uploads.untaken.value], [830, 830, 0]);
    same(summaryOf(uploads.items.value), "830 added");
  },
  "how many are more than are taken at once is known until the list is cleared": async () => {
    const { uploads } = await sent(files(MOST_FILES + 2), [[429, { error: { message: "Wait." } }]]);
    same([uploads.items.value.length, uploads.untaken.value], [MOST_FILES, 2]);
    uploads.clear();
    same([uploads.items.value.length, uploads.untaken.value], [0, 0]);
  },
  "of very many those that failed and those under way are drawn": () => {
    const items = ["added", "added", "waiting", "sending", "failed"].map((state, id) => ({ id, state }));
    same(drawnOf(items, 3).map(({ state }) => state), ["failed", "sending", "waiting"]);
    same(drawnOf(items, 5) === items, true);
  },
  "after too many in an hour nothing more is sent, and all can be tried again": async () => {
    const { uploads, posts } = await sent(files(20), [[201, { doc_id: "d" }], [429, { error: { message: "1,000 an hour." } }]]);
    same([states(uploads).filter((state) => state === "failed").length, posts() <= 4], [19, true]);
  },
  "a file is not added before it is where it belongs, and another try sends no bytes": async () => {
    let isRefused = true;
    const place = async () => {
      if (isRefused) throw new Error("The project is full.");
    };
    const { uploads, posts } = await sent(files(2), [[201, { doc_id: "d" }]], { as: { ...asDocument, place } });
    same(uploads.items.value.map(({ state, error }) => [state, error]), [["failed", "The project is full."], ["failed", "The project is full."]]);
    isRefused = false;
    uploads.retryAll();
    same([uploads.isBusy.value, states(uploads)], [true, ["checking", "checking"]]);
    await ended(uploads);
    same([states(uploads), posts()], [["added", "added"], 2]);
  },
  "a pasted picture is called by the reader's own time": async () => {
    const now = Object.assign(new Date("2026-11-20T22:59:08Z"), { getDate: () => 20, getHours: () => 23, getMinutes: () => 59 }); // an hour east
    const transfer = { items: [], files: [new File(["x"], "image.png", { type: "image/png" }), new File(["x"], "a.pdf")] };
    same((await pastedFiles(transfer, now)).map(({ name }) => name), ["Pasted 2026-11-20 23-59-08.png", "a.pdf"]);
  },
  "what is too big is not sent": () => {
    same(faultOf({ size: 200 }, 200), null);
    same(faultOf({ size: 2_500_000 }, 2_000_000), "It has 2.5 MB, and 2.0 MB is the most. Split it, and add its parts.");
    same([0, 999, 1000, 20_000_000, 3e9].map(sizeWords), ["0 B", "999 B", "1.0 kB", "20 MB", "3.0 GB"]);
  },
  "several uploads are summed up": () => {
    const item = (state, sent = 0, size = 100) => ({ state, sent, size });
    same(summaryOf([item("sending", 0.5), item("waiting"), item("added"), item("failed")]), "Adding 2 files · 62 %");
    same(summaryOf([item("added"), item("known"), item("failed"), item("added")]), "2 added · 1 already here · 1 not added");
    same(summaryOf([item("waiting", 0, 0)]), "Adding 1 file · 0 %");
  },
  "stages stand in their order, those without a name behind them": () => {
    same(stagesOf(TRACE).map(({ key, title, ms }) => [key, title, ms]), [["keyword", "By words", 4], ["fused", "Put together", null], ["unheard_of", "Unheard of", null]]);
    same([stagesOf(null), stagesOf({})], [[], []]);
  },
  "times are told of the whole and of its parts": () => {
    same(timesOf(TRACE), { whole: 6.5, parts: [{ name: "By words", ms: 4, share: 1 }, { name: "Passages with their neighbours", ms: 1, share: 0.25 }] });
    same([timesOf({ took_ms: 3 }), timesOf(undefined)], [{ whole: 3, parts: [] }, { whole: null, parts: [] }]);
  },
  "a passage says by what it was found, and nothing of what gave nothing": () => {
    const why = { bm25: 8.2, cosine: null, keyword: 0.4, dense: 0, like: null, age: 0.1, score: 0.5 };
    same(whyOf({ chunk_id: "c1", why }, TRACE), [{ leg: "Words", rank: 2, figures: [["BM25", 8.2], ["share", 0.4]] }, { leg: "Age", rank: null, figures: [["share", 0.1]] }]);
    same(whyOf({ chunk_id: "c1", why: { dense: { rank: 3, score: 0.7 } } }, null), [{ leg: "Meaning", rank: 3, figures: [["score", 0.7]] }]);
    same(whyOf({}, null), []);
  },
  "words of the question are marked as whole words": () => {
    same(marked("Revenues: revenue (2026)", "the Revenue of 2026?").filter(({ hit }) => hit).map(({ text }) => text), ["revenue", "2026"]);
    same(marked("a.b", "a.*("), [{ text: "a.b", hit: false }]);
  },
  "values are drawn by their shape": () => {
    same([3, "x", null, [1], [{ a: 1 }], [], { a: 1 }, { a: [] }].map(shapeOf), ["number", "text", "text", "list", "table", "list", "pairs", "record"]);
    same([12_345, 0.123456, 41.234, 1e-9, 250.7].map(number), ["12,345", "0.123", "41.2", "1E-9", "251"]);
  },
  "only what was filled in is asked for": () => {
    same(wantedOf([["q", " net revenue "], ["mode", "keyword"], ["top_k", ""], ["filename", ""]], null), { query: "net revenue", mode: "keyword", explain: true });
    same(wantedOf([["q", "x"], ["top_k", "20"], ["doc_type", "pdf"], ["rerank", "true"]], "d"), { query: "x", mode: "hybrid", explain: true, top_k: 20, rerank: true, document_ids: ["d"], filters: { doc_type: "pdf" } });
  },
};
