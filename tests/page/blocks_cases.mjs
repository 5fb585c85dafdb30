// Cases for the cutting of a growing Markdown text into blocks: run by Node and, the same ones, in the browser.
import { Marked } from "../../static/vendor/markdown.js";
import { createSplitter } from "../../static/js/blocks.js";

const lexer = new Marked({ gfm: true });
const lex = (text) => lexer.lexer(text);

const TEXTS = {
  "paragraphs and headings": "One.\n\nTwo goes on\nhere.\n\n# Head\n\nUnder\n=====\n\nEnd.",
  "a loose list with code in it": "1. a\n\n   ```py\n   x = 1\n   ```\n\n2. b\n\n   - c\n\n3. d\n\nAfter.\n\nMore.\n\nStill.",
  "code": "Look:\n\n```python title=x\nprint('a')\n\n\nprint('b')\n```\n\nand\n\n~~~\nplain\n~~~\n\ndone\n\nreally",
  "an open fence": "Look:\n\n```js\nlet a = 1;\n\n# not a heading\n",
  "a table": "| a | b |\n|--:|:-:|\n| 1 | 2 |\n| 3 | 4 |\n\ntext\n\n- [ ] todo\n- [x] done\n\nend\n\nend",
  "references": "See [the manual][1] and [2].\n\nOther text.\n\nMore text.\n\n[1]: https://example.org/a\n[2]: https://example.org/b\n\nEnd.\n\nEnd.",
  "old line ends": "One\r\n\r\nTwo\r\n\r\n- a\r\n- b\r\n\r\nThree\r\n\r\nFour",
  "quotes and rules": "> a\n> b\n\n---\n\n> c\n\n***\n\nend",
};

function equal(found, wanted, what) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: found ${a}, wanted ${b}`);
}

export const cases = {
  "a text that grew is cut as one that came whole"() {
    for (const [name, text] of Object.entries(TEXTS)) {
      for (const step of [1, 3, 7]) {
        const split = createSplitter(lex);
        for (let end = step; end < text.length; end += step) split(text.slice(0, end));
        equal(split(text), createSplitter(lex)(text), `${name}, by ${step}`);
      }
    }
  },

  "finished blocks are not cut again"() {
    let longest = 0;
    const split = createSplitter((text) => {
      longest = Math.max(longest, text.length);
      return lex(text);
    });
    const paragraph = "Some words that make a paragraph.\n\n";
    for (let count = 1; count <= 500; count++) split(paragraph.repeat(count));
    if (longest > 4 * paragraph.length) throw new Error(`${longest} characters were read at once`);
  },

  "a text that was reset is cut from its beginning"() {
    const split = createSplitter(lex);
    split("One\n\nTwo\n\nThree\n\nFour");
    equal(split("Uno\n\nDue").map(({ raw }) => raw.trim()), ["Uno", "Due"], "blocks");
  },

  "code keeps its text and the name of its language"() {
    const [block] = createSplitter(lex)('```Py title="x"\n<b>a</b>\n```');
    equal([block.kind, block.code, block.language], ["code", "<b>a</b>", "py"], "block");
    equal(createSplitter(lex)('```"><img onerror=alert(1)>\nx\n```')[0].language, "", "language");
  },
};
