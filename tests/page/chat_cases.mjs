// The chat's pure parts: the end of a growing text, the palette's order, keys, tables as text, formulas in Markdown, the queue.
import { modesOf } from "../../static/js/agents.js";
import { createConversationList } from "../../static/js/conversation_list.js";
import { actionOf, keyTable } from "../../static/js/keys.js";
import { clipped } from "../../static/js/json.js";
import { calmed } from "../../static/js/midstream.js";
import { fit, ranked, recentFirst } from "../../static/js/palette.js";
import { startersFor, whatIsThere } from "../../static/js/starters.js";
import { EMPTY, chosenEnd, reduce, transcript } from "../../static/js/store.js";
import { asCsv, asTsv } from "../../static/js/tables.js";
import { equal } from "./given.mjs";

const message = (id, parent_id, role, more = {}) => ({ id, parent_id, role, text: id, created_at: `2026-11-20T09:00:0${id.length}Z`, execution: null, ...more });
const pressed = (key, more = {}) => ({ key, metaKey: false, ctrlKey: false, shiftKey: false, altKey: false, ...more });

export const cases = {
  "what is open at the end of a text is closed or waits"() {
    const wanted = [
      ["see **bold te", "see **bold te**"], ["see **bold*", "see **bold**"], ["a `co", "a `co`"], ["~~gone", "~~gone~~"], ["***b", "***b***"], ["**", ""],
      ["x [link](http://a", "x link"], ["x ![alt](ht", "x "], ["cost [1", "cost "], ["cost [1, 2", "cost "], ["a <b", "a "],
      ["| a | b |", ""], ["| a | b |\n|---|", ""], ["Text\n-", "Text"], ["Text\n--", "Text"], ["- a\n- ", "- a"], ["1. one\n2. **two", "1. one\n2. **two**"], ["##", ""],
      ["$$\n\\frac{a}", ""], ["so $x^2", "so "], ["a \\(x", "a "], ["a \\[x", "a "],
    ];
    for (const [text, shown] of wanted) equal(calmed(text), shown, text);
  },

  "what is whole is left as it is"() {
    for (const text of ["see **bold**", "| a | b |\n|---|---|", "| a | b |\n|---|---|\n| 1 | 2", "it costs $5 and", "it costs $5 and $6", "a * b", "2 < 3 and", "cost [1]", "done $x$ and $$y$$ ok", "- [ ] t", "Text\n- a", "use `a_b` and __init__", "an_under_score"]) equal(calmed(text), text, text);
  },

  "a text that grows never shows the signs of what comes"() {
    const text = "Intro with **bold words** and [a link](https://example.org/x).\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n- one\n- two `code`\n\n$$\nx^2\n$$\n\nEnd.";
    const count = (shown, sign) => shown.split(sign).length - 1;
    for (let end = 1; end <= text.length; end++) {
      const shown = calmed(text.slice(0, end).split("\n\n").at(-1));
      const isBroken = count(shown, "**") % 2 || count(shown, "`") % 2 || count(shown, "$$") % 2 || /\]\([^)]*$/.test(shown) || (shown.startsWith("|") && !/\n\|-+\|-/.test(shown)) || /\n-$/.test(shown);
      if (isBroken) throw new Error(`at ${end}: ${JSON.stringify(shown)}`);
    }
  },

  "the palette finds by words, beginnings of words, and forgives one letter"() {
    const items = ["New conversation", "Go to the documents", "Go to the inbox", "Copy the last answer", "Überblick"].map((title) => ({ id: title, title }));
    const first = (wanted) => ranked(wanted, items)[0]?.title ?? null;
    equal([first("new"), first("gtd"), first("inbox"), first("cla"), first("uber"), first("go doc"), first("nwconv"), first("hot"), first("zzz")],
      ["New conversation", "Go to the documents", "Go to the inbox", "Copy the last answer", "Überblick", "Go to the documents", "New conversation", null, null], "first");
    if (fit("doc", "Go to the documents") <= fit("doc", "A mad ocean")) throw new Error("the beginning of a word counts more");
    equal(recentFirst(items, ["Überblick"])[0].id, "Überblick", "recent");
  },

  async "a conversation that was deleted elsewhere leaves the list when it is read again"() {
    const at = (id, minute) => ({ id, title: id, updated_at: `2026-11-20T09:${minute}:00Z` });
    const answers = [{ results: [at("new", 50), at("gone", 40), at("open", 35), at("kept", 30)], next: "/more" }];
    let meanwhile = () => {};
    const api = { listConversations: async () => (meanwhile(), answers.at(-1)) };
    const list = createConversationList(api, [at("pinned", 10)]);
    const ids = () => list.items.value.map(({ id }) => id).join(" ");
    await list.loadMore();
    answers.push({ results: [at("new", 50), at("kept", 30)], next: "/more" });
    await list.refresh("open");
    equal(ids(), "new open kept pinned", "of which its own page is told, and what stands further down");
    meanwhile = () => list.update(at("made", 55));
    await list.refresh("open");
    equal(ids(), "made new open kept pinned", "what was made meanwhile");
    meanwhile = () => {};
    answers.push({ results: [at("made", 55), at("kept", 30)], next: null });
    await list.refresh();
    equal(ids(), "made kept", "where there is no more");
    api.listConversations = async () => Promise.reject(new Error("away"));
    await list.refresh();
    equal(ids(), "made kept", "what cannot be read is as it was");
  },

  "a key does what the sheet says"() {
    equal([actionOf(pressed("k", { ctrlKey: true }), ["page"]), actionOf(pressed("K", { metaKey: true }), ["page"]), actionOf(pressed("?", { shiftKey: true }), ["page", "outside"]), actionOf(pressed("?", { shiftKey: true }), ["page"]),
      actionOf(pressed("Escape"), ["page"]), actionOf(pressed("Enter"), ["box"]), actionOf(pressed("Enter", { ctrlKey: true }), ["box"]), actionOf(pressed("Enter", { shiftKey: true }), ["box"]), actionOf(pressed("Enter", { isComposing: true }), ["box"])],
    ["palette", "palette", "help", null, "stop", "send", "queue", null, null], "actions");
    const told = keyTable().flatMap(({ rows }) => rows);
    equal(told.filter(({ words, ways }) => !words || ways.some((way) => !way.length)), [], "every line says its keys and what they do");
  },

  "of a text that is too long it is said how much is not shown"() {
    equal([clipped("abc", 3), clipped("abcd", 3), clipped("a".repeat(2003), 3)], ["abc", "abc\n… 1 more character", "aaa\n… 2,000 more characters"], "clipped");
  },

  "a sign is what was typed, however a keyboard types it"() {
    const graph = (more = {}) => ({ altKey: true, ctrlKey: true, getModifierState: (name) => name === "AltGraph", ...more });
    equal([actionOf(pressed("/", { shiftKey: true }), ["page", "outside"]), actionOf(pressed("[", graph()), ["page", "outside"]), actionOf(pressed("]", graph()), ["page", "outside"]),
      actionOf(pressed("/", { ctrlKey: true }), ["page", "outside"]), actionOf(pressed("[", { altKey: true, getModifierState: () => false }), ["page", "outside"]), actionOf(pressed("k", graph()), ["page", "outside"])],
    ["searchBySlash", "before", "after", null, null, null], "on a German keyboard");
  },

  "a mode that begins with a skill says what is missing for it"() {
    const lacking = { image: "Images are not configured: set OPENAI_API_KEY." };
    const found = modesOf(["task", "image", "slide"], [], lacking).map(({ name, hint, why, enabled }) => [name, enabled, why && hint]);
    equal(found, [["task", true, null], ["image", false, "Images are not configured"], ["slide", true, null]], "modes");
  },

  "a table's cell is no formula for a spreadsheet"() {
    const rows = [["a", 'say "x", y'], ["=HYPERLINK(1)", "-3.5 %"], ["@x", "+4"]];
    equal(asCsv(rows), 'a,"say ""x"", y"\r\n\'=HYPERLINK(1),-3.5 %\r\n\'@x,+4', "csv");
    equal(asTsv(rows), "a\tsay \"x\", y\n'=HYPERLINK(1)\t-3.5 %\n'@x\t+4", "tsv");
  },

  "what is offered to begin with fits what is there"() {
    const roster = [{ name: "mail", enabled: true, available: false }, { name: "code", enabled: true }, { name: "rag", enabled: true }];
    const has = whatIsThere({ has_documents: true, modes: ["mail", "code", "rag"] }, roster, (agent) => agent.available !== false);
    equal([...has].sort(), ["code", "documents"], "there");
    equal(startersFor(has).length, 4, "count");
    equal(startersFor(has).slice(0, 2).map(({ icon }) => icon), ["document", "brackets"], "first");
  },

  "who tries the small model is led to an approval, by a program that it can write"() {
    const roster = [{ name: "code" }, { name: "data" }];
    const has = whatIsThere({ has_documents: true, is_model_small: true, modes: ["code", "data"] }, roster, () => true);
    const titles = startersFor(has).map(({ title }) => title);
    equal(titles.slice(0, 2), ["Ask your documents", "Try an approval"], "offered");
    equal(titles.includes("Write a program"), false, "once");
    equal(startersFor(new Set(["documents", "small model"])).some(({ title }) => title === "Try an approval"), false, "without a place to run it");
  },

  "a question that waits keeps its place, and its words come back"() {
    let state = reduce(EMPTY, { type: "queued", client_id: "a", text: "one", held: true });
    state = reduce(state, { type: "queued", client_id: "b", text: "two", held: true });
    state = reduce(state, { type: "queued", client_id: "a", text: "one" });
    equal(state.outbox.map(({ client_id, held }) => [client_id, held ?? false]), [["a", false], ["b", true]], "outbox");
    equal(reduce(state, { type: "unqueued", client_id: "b" }).outbox.length, 1, "taken back");
  },

  "an edited question is a branch, and what follows on an older branch says so"() {
    const messages = [message("q", null, "user"), message("aa", "q", "assistant"), message("qqq", null, "user"), message("aaaa", "qqq", "assistant")];
    let state = reduce(EMPTY, { type: "loaded", messages });
    equal(transcript(state).map(({ message: { id } }) => id), ["qqq", "aaaa"], "the newest branch");
    equal(chosenEnd(state), null, "at the newest end nothing is named");
    state = reduce(state, { type: "chose", parent_id: null, id: "q" });
    equal([transcript(state).map(({ message: { id } }) => id), chosenEnd(state)], [["q", "aa"], "aa"], "the older branch");
    state = reduce(state, { type: "said", message: message("qqqqq", null, "user"), reply: message("aaaaaa", "qqqqq", "assistant"), client_id: null });
    equal(transcript(state)[0].message.id, "qqqqq", "an edit shows itself");
  },

  "what may be asked next belongs to its answer"() {
    let state = reduce(EMPTY, { type: "loaded", messages: [message("q", null, "user"), message("aa", "q", "assistant")] });
    state = reduce(state, { type: "learned", message_id: "aa", more: { follow_ups: ["Why?"] } });
    equal(transcript(state).at(-1).message.follow_ups, ["Why?"], "told");
    const read = reduce(EMPTY, { type: "loaded", messages: [message("q", null, "user"), message("aa", "q", "assistant", { follow_ups: ["Why?"] })] });
    equal(transcript(read).at(-1).message.follow_ups, ["Why?"], "read");
    equal(reduce(state, { type: "learned", message_id: "zz", more: { follow_ups: ["?"] } }) === state, true, "of no message");
  },
};
