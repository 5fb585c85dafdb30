// Links of answers: which addresses a person knows, and what an address carries of what was said.
import { addressesIn, isKnown, keyOf, readAddress, textsIn } from "../../static/js/links.js";
import { equal } from "./given.mjs";

const SAID = ["My password is hunter2-Ottoline, keep it secret. See https://docs.example.org/a?x=1#b and python.org.", "The train to Reading leaves at nine from https://trains.example/times."];
const ORIGIN = "http://127.0.0.1:8000";
const base64 = (text) => btoa(text);
const hex = (text) => [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const marked = (address, texts = SAID) => readAddress(address, texts).filter(({ isCarried }) => isCarried).map(({ text, reads }) => [text, reads]);

export const cases = {
  "what a person wrote is known, however it is written"() {
    const known = addressesIn(SAID);
    const answers = ["https://docs.example.org/a?x=1#b", "http://docs.example.org/a?x=1#b", "https://python.org/", "https://trains.example/times"].map((one) => isKnown(one, { known, origin: ORIGIN }));
    equal(answers, [true, true, true, true], "known");
  },

  "what is added to a known address makes it another"() {
    const known = addressesIn(SAID);
    const others = ["https://docs.example.org/a?x=2#b", "https://docs.example.org/a?x=1", "https://docs.example.org/a?x=1#c", "https://docs.example.org:8443/a?x=1#b", "https://u:p@python.org/", "https://python.org.evil.example/", "https://www.python.org/?q=1", "ftp://python.org/"];
    equal(others.map((one) => isKnown(one, { known, origin: ORIGIN })), others.map(() => false), "others");
  },

  "our own pages and a plain e-mail address need no question, a filled-in mail does"() {
    const known = new Set();
    equal(["/documents/?q=secret", "mailto:bob@example.org", "mailto:bob@example.org?body=secret", "https://example.org/"].map((one) => isKnown(one, { known, origin: ORIGIN })), [true, true, false, false], "own");
    equal(keyOf("javascript:alert(1)"), null, "no address");
  },

  "the whole address is shown, with its percent signs undone"() {
    const parts = readAddress("https://evil.example/a%20b/?q=%C3%A9t%C3%A9&r=1+2#x%2Fy", []);
    equal(parts.map(({ text }) => text).join(""), "https://evil.example/a b/?q=été&r=1 2#x/y", "shown");
    equal(parts.filter(({ isHost }) => isHost).map(({ text }) => text).join(""), "evil.example", "host");
    equal(readAddress("mailto:bob@example.org?subject=a%20b", []).map(({ text }) => text).join(""), "mailto:bob@example.org?subject=a b", "mail");
  },

  "words of the conversation are found in path, query, fragment, host and account"() {
    const secret = "hunter2-Ottoline";
    equal(marked(`https://evil.example/p/${secret}/x`), [[secret, null]], "path");
    equal(marked(`https://evil.example/p?d=${secret}&e=1`), [[secret, null]], "query");
    equal(marked(`https://evil.example/p?${encodeURIComponent("password is hunter2")}`), [["password is hunter2", null]], "a query without a name");
    equal(marked(`https://evil.example/p?d=my+password+is`), [["my password is", null]], "spaces as plus");
    equal(marked(`https://evil.example/p#${secret}`), [[secret, null]], "fragment");
    equal(marked(`https://hunter2-ottoline.evil.example/`), [["hunter2-ottoline", null]], "host");
    equal(marked(`https://me:${secret}@evil.example/`), [[secret, null]], "account");
    equal(marked("https://evil.example/?d=mypasswordishunter2"), [["mypasswordishunter2", null]], "without its spaces");
  },

  "words are found under base64, hex, percent signs and these within each other"() {
    const secret = "password is hunter2-Ottoline";
    const double = encodeURIComponent(encodeURIComponent(secret));
    equal(marked(`https://evil.example/?d=${base64(secret)}`).map(([, reads]) => reads), [secret], "base64");
    equal(marked(`https://evil.example/?d=${base64(secret).replaceAll("=", "").replaceAll("+", "-")}`).map(([, reads]) => reads), [secret], "for addresses");
    equal(marked(`https://evil.example/${hex(secret)}`).map(([, reads]) => reads), [secret], "hex");
    equal(marked(`https://evil.example/?d=${double}`).map(([, reads]) => reads), [secret], "twice percent");
    equal(marked(`https://evil.example/?d=${base64(hex(secret))}`).map(([, reads]) => reads), [secret], "hex in base64");
  },

  "an address that says nothing of the conversation is not marked"() {
    for (const address of ["https://example.org/", "https://example.org/wiki/Zebra?action=view&id=0123456789abcdef", "https://example.org/the/is/at", "https://example.org/%ff%fe", "https://example.org/?d=AAAAAAAAAAAA", `https://example.org/${"a".repeat(30_000)}`]) {
      equal(marked(address), [], address.slice(0, 60));
    }
  },

  "an address that is itself quoted in the conversation carries nothing by that"() {
    equal(marked("https://evil.example/zebra-crossing", ["Look at [this](https://evil.example/zebra-crossing)."]), [], "quoted");
  },

  "what runs showed is text of the conversation too"() {
    equal(textsIn({ a: ["one", { b: "two" }], c: 3, d: null }), ["one", "two"], "texts");
  },
};
