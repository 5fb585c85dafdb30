// Cases for what agents do with their hands: programs, charts, files. Run by Node and, the same ones, in the browser.
import { coloured, plain } from "../../static/js/ansi.js";
import { csvOf, describe, fileName, readChart, tableOf } from "../../static/js/chart_spec.js";
import { browsingOf, programsOf, resultsOf } from "../../static/js/hands.js";
import { shownOf, tailOf, textOf, withoutCharts } from "../../static/js/output.js";
import { fileHref, ownHref } from "../../static/js/places.js";
import { EMPTY_TRACE, applyToTrace } from "../../static/js/trace.js";
import { equal, numbered } from "./given.mjs";

const told = (...bodies) => numbered(bodies).reduce(applyToTrace, EMPTY_TRACE);
const command = (id, more = {}) => ({ type: "terminal_command", command: "print(1)", language: "python", id, ...more });
const out = (content, id) => ({ type: "terminal_output", content, id });
const err = (content, id) => ({ type: "terminal_error", content, id });
const complete = (id, exit_code = 0, more = {}) => ({ type: "terminal_complete", exit_code, id, ...more });
const result = (more = {}) => ({ type: "code_result", code: "print(1)", stdout: "1\n", stderr: "", exit_code: 0, ...more });
const file = (path, more = {}) => ({ type: "workspace_update", path, operation: "written", ...more });
const programs = (trace, isLive = true) => programsOf(trace, isLive).map(({ status, exitCode, parts, language }) => [status, exitCode, textOf(parts), language]);
const bar = (more = {}) => ({ type: "bar", data: { labels: ["a", "b"], datasets: [{ label: "n", data: [1, 2] }] }, ...more });

export const cases = {
  "output belongs to the program that its id names"() {
    const trace = told(command("1"), command("2"), out("one ", "1"), out("two", "2"), err("more", "1"), complete("1", 3), complete("2"));
    equal(programs(trace), [["failed", 3, "one more", "python"], ["completed", 0, "two", "python"]]);
    equal(programsOf(trace, true)[0].parts.map(({ stream }) => stream), ["out", "err"], "streams");
  },

  "without ids it belongs to the one that runs"() {
    equal(programs(told(command(), out("a"), complete(), command(), out("b"))), [["completed", 0, "a", "python"], ["running", null, "b", "python"]]);
  },

  "the result of a program that was watched is no second program"() {
    equal(programs(told(command("1"), out("1\n", "1"), complete("1"), result({ id: "1" }))), [["completed", 0, "1\n", "python"]]);
    equal(programs(told(command(), out("1\n"), complete(), result())), [["completed", 0, "1\n", "python"]], "without an id");
    equal(programs(told(command("1"), complete("1"), result({ id: "1", stdout: "all of it" }))), [["completed", 0, "all of it", "python"]], "what was not watched");
  },

  "the same program run twice is two"() {
    equal(programs(told(result(), result({ exit_code: 1 }))).map(([status]) => status), ["completed", "failed"]);
  },

  "a program that was not run says why"() {
    const [program] = programsOf(told(result({ stdout: "", stderr: "It was denied.", exit_code: null })), true);
    equal([program.status, program.note, program.parts], ["not_run", "It was denied.", []]);
  },

  "a program that was stopped has no exit code and a reason"() {
    const trace = told(command("1"), complete("1", null, { note: "It ran out of time." }), result({ id: "1", stdout: "", exit_code: null }));
    const [program] = programsOf(trace, true);
    equal([program.status, program.note], ["cancelled", "It ran out of time."]);
  },

  "a program whose worker was lost is begun anew in its place"() {
    const before = [command("1"), out("half", "1"), { type: "agent_shutdown", reason: "crash", agent_id: "root" }];
    equal(programs(told(...before)), [["lost", null, "half", "python"]]);
    equal(programs(told(...before), false), [["cancelled", null, "half", "python"]], "over");
    equal(programs(told(...before, command("9"), out("whole", "9"), complete("9"))), [["completed", 0, "whole", "python"]]);
  },

  "what is told of it then begins where the first left off, and its result is all of it"() {
    const before = [command("1"), out("half ", "1"), { type: "agent_shutdown", reason: "crash", agent_id: "root" }, out("gone ", "9")];
    equal(programs(told(...before)), [["running", null, "half gone ", "python"]]);
    equal(programs(told(...before, complete("9"), result({ id: "9", stdout: "whole" }))), [["completed", 0, "whole", "python"]]);
  },

  "what a program prints without end is kept in part"() {
    let trace = told(command("1"), out("first line\n", "1"));
    for (let at = 0; at < 300; at += 1) trace = applyToTrace(trace, { ...out("x".repeat(9_999) + "\n", "1"), agent_id: "chat" });
    trace = applyToTrace(trace, { ...out("last line\n", "1"), agent_id: "chat" });
    const { parts } = programsOf(trace, true)[0];
    const kept = textOf(parts);
    equal([kept.startsWith("first line"), kept.endsWith("last line\n"), kept.length <= 400_000], [true, true, true]);
    equal(kept.split("left out here").length, 2, "one gap");
    equal(shownOf(parts).parts.reduce((sum, { text }) => sum + text.length, 0), 150_000, "drawn");
  },

  "folded, a program shows its last lines"() {
    const parts = [{ stream: "out", text: "1\n2\n3\n" }, { stream: "err", text: "4\n5" }];
    equal(textOf(tailOf(parts, 3).parts), "3\n4\n5");
    equal(tailOf(parts, 3).left, 4, "left");
    equal(textOf(tailOf(parts, 9).parts), "1\n2\n3\n4\n5");
    equal(textOf(withoutCharts([{ stream: "out", text: 'a\n@chart {"type": 1}\nb\n' }])), "a\nb\n", "charts");
  },

  "colours of a terminal become classes, all else that steers it is taken out"() {
    equal(coloured("a\u001b[1;31mred\u001b[0m b"), [{ text: "a", classes: "" }, { text: "red", classes: "ansi-bold ansi-red" }, { text: " b", classes: "" }]);
    equal(coloured("\u001b[38;5;31mx\u001b[39my").map(({ classes }) => classes), ["", ""]);
    equal(plain("\u001b]0;title\u0007\u001b[2J\u001b[Hok\u0008\u0000 \u001b]8;;http://evil\u001b\\link"), "ok link");
    equal(plain("10 %\r50 %\r100 %\r\ndone\r\n"), "100 %\ndone\n");
  },

  "files are shown once, in their latest version, and not when they are gone"() {
    const trace = told(file("a.csv", { version: 1, size_bytes: 1 }), file("b.png"), file("a.csv", { version: 2, size_bytes: 2 }), { ...file("b.png"), operation: "deleted" });
    equal(resultsOf(trace).files.map(({ path, version, size }) => [path, version, size]), [["a.csv", 2, 2]]);
  },

  "a picture of a chart that is drawn is not shown beside it"() {
    const image = (path, version) => ({ type: "image", path, alt: "", version });
    const trace = told(image("a.png", 1), image("b.png", 1), image("b.png", 2), image("gone.png"), { ...file("gone.png"), operation: "deleted" }, { type: "visualization", title: "A", spec: bar(), path: "a.png" });
    equal(resultsOf(trace).images.map(({ path, version }) => [path, version]), [["b.png", 2]]);
  },

  "addresses are of this server or none"() {
    const place = { scopeId: "1", path: "tables/by month.csv" };
    equal(fileHref({ ...place, version: 2, inline: true }), "/api/v1/files/conversation/1/tables/by%20month.csv?inline=1&version=2");
    equal(["../a", "/etc", "a//b", "", "a\\b", "https://evil/a.png"].map((path) => fileHref({ scopeId: "1", path })), [null, null, null, null, null, null]);
    equal(["/preview/1/", "//evil", "/\\evil", "https://evil", "javascript:alert(1)", null].map(ownHref), ["/preview/1/", null, null, null, null, null]);
    const previews = told({ type: "app_preview", url: "https://evil/", title: "x" }, { type: "app_preview", url: "/admin/", title: "z" }, { type: "app_preview", url: "/previews/0a1b2c3d-0000-4000-8000-000000000001/", title: "y" });
    equal(resultsOf(previews).previews.map(({ url }) => url), ["/previews/0a1b2c3d-0000-4000-8000-000000000001/"], "previews");
  },

  "of a chart only what is safe is taken"() {
    const chart = readChart(bar({ options: { onClick: "alert(1)", scales: { y: { title: { text: "EUR" }, stacked: true } }, indexAxis: "y" }, title: "T" }));
    equal([chart.kind, chart.title, chart.isStacked, chart.isSideways, chart.y.title], ["bar", "T", true, true, "EUR"]);
    equal([readChart({ type: "evil", data: { datasets: [{ data: [1] }] } }), readChart({ type: "bar", data: { datasets: [{ data: ["x"] }] } }), readChart(null)], [null, null, null]);
    equal(readChart({ type: "scatter", data: { datasets: [{ data: [{ x: 1, y: "2" }, [3, 4], { x: "a", y: 1 }] }] } }).series[0].values, [{ x: 1, y: 2 }, { x: 3, y: 4 }, null]);
  },

  "a chart is a table too, and one that no spreadsheet runs"() {
    const chart = readChart({ type: "line", data: { labels: ["=1+1", "-2", 'b,"'], datasets: [{ label: "n", data: [1, null, 2.5] }] } }, "Sums");
    equal(tableOf(chart).rows, [["=1+1", 1], ["-2", null], ['b,"', 2.5]]);
    equal(csvOf(tableOf(chart)), ',n\r\n\'=1+1,1\r\n-2,\r\n"b,""",2.5\r\n');
    equal(describe(chart), "Line chart: Sums. n. 3 values.");
    equal(fileName("Größe / Jahr!", "png"), "größe-jahr.png");
  },

  "the browser has its steps, its page and its last picture"() {
    const step = (action, more = {}) => ({ type: "browser_action", action, target: "", ...more });
    const browsing = browsingOf(told(step("navigate", { url: "http://a/", screenshot: "1.png" }), step("click", { target: "Buy" }), { type: "browser_stream", url: "https://evil/" }));
    equal([browsing.steps.length, browsing.page.url, browsing.seen.screenshot, browsing.stream], [2, "http://a/", "1.png", null]);
    equal(browsingOf(told()), null);
  },
};
