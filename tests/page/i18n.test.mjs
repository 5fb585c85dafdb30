// What the page's words are made of: a catalogue, its plural rule, and placeholders.
import assert from "node:assert/strict";
import { test } from "node:test";
import { t, tn, translator } from "../../static/js/i18n.js";

const polish = translator({
  language: "pl",
  plural: (n) => (n === 1 ? 0 : n % 10 >= 2 && n % 10 <= 4 && (n % 100 < 10 || n % 100 >= 20) ? 1 : 2),
  messages: {
    "{count} file": ["{count} plik", "{count} pliki", "{count} plików"],
    "Delete {name}?": "Usunąć {name}?",
    "state\u0004Open": "Otwarte",
    Open: "Otwórz",
    constructor: "konstruktor",
  },
});

test("without a catalogue a text is itself, its placeholders filled", () => {
  assert.equal(t("Delete {name}?", { name: "a" }), "Delete a?");
  assert.equal(tn("{count} task", "{count} tasks", 1), "1 task");
  assert.equal(tn("{count} task", "{count} tasks", 2000), "2,000 tasks");
});

test("the catalogue's own rule chooses the plural form", () => {
  const said = [1, 3, 5, 22].map((count) => polish.tn("{count} file", "{count} files", count));
  assert.deepEqual(said, ["1 plik", "3 pliki", "5 plików", "22 pliki"]);
});

test("what one word means is told by its context", () => {
  assert.equal(polish.t("Open"), "Otwórz");
  assert.equal(polish.tc("state", "Open"), "Otwarte");
  assert.equal(polish.tc("other", "Shut"), "Shut");
});

test("what is not in the catalogue stays English, also by a name that every object has", () => {
  assert.equal(polish.t("Save"), "Save");
  assert.equal(polish.t("toString"), "toString");
  assert.equal(polish.t("constructor"), "konstruktor");
});

test("a value is put in as it is, and a placeholder without one is seen", () => {
  assert.equal(polish.t("Delete {name}?", { name: "{name} $& <b>" }), "Usunąć {name} $& <b>?");
  assert.equal(polish.t("Delete {name}?"), "Usunąć {name}?");
});

test("an element can stand in a sentence", () => {
  const element = { tag: "b" };
  assert.deepEqual(polish.parts("Delete {name}?", { name: element }), ["Usunąć ", element, "?"]);
});
