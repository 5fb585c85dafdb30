"""What a model writes is an attacker's text: shown, it runs nothing, loads nothing and pretends nothing."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.page.conftest import Watched
from tests.page.hostile_markdown import PAYLOADS, everything_hostile

INVENTORY = """() => [...document.querySelectorAll("#shown .prose-block, #shown .prose-block *")].map((node) => ({
    tag: node.localName,
    attributes: Object.fromEntries([...node.attributes].map(({ name, value }) => [name, value])),
}))"""
INLINE = {"a", "b", "br", "code", "del", "em", "i", "img", "kbd", "s", "strong", "sub", "sup", "u"}
BLOCKS = {"blockquote", "div", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul"}
TAGS = INLINE | BLOCKS | {"table", "tbody", "td", "th", "thead", "tr", "button"}
ATTRIBUTES = {
    "a": {"href", "target", "rel", "title", "dir", "data-leads-to", "role", "tabindex", "aria-haspopup"},
    "img": {"src", "alt", "loading", "align"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "button": {"type", "data-copy-table"},
    "span": {"class", "tabindex", "data-source"},
    "ol": {"start"},
    "li": {"class", "dir"},
    "td": {"class", "align", "dir"},
}
CLASSES = {"", "prose-block", "table-block", "table-frame", "table-tools", "task", "is-figure", "is-long"}
FORMULA = {"formula is-inline", "formula is-display", "formula is-inline is-source", "formula is-display is-source"}
MATH = {"math", "mrow", "mi", "mo", "mn", "mtext", "mfrac", "msup", "msub", "mspace", "mstyle", "mpadded"}


@pytest.fixture
def page(watched: Watched, static_site: str) -> Page:
    page = watched.new_page()
    page.goto(f"{static_site}/tests/page/render.html")
    page.wait_for_function("typeof show === 'function'")
    return page


def faults_of(nodes: list[dict[str, Any]], origin: str) -> list[str]:
    faults = []
    for node in nodes:
        tag, attributes = node["tag"], node["attributes"]
        if attributes.get("class") in FORMULA or tag in MATH:
            continue  # they have a test of their own
        foreign = set(attributes) - ATTRIBUTES.get(tag, {"dir", "align"})
        if tag not in TAGS or foreign or attributes.get("class", "") not in CLASSES:
            faults.append(f"<{tag} {attributes}>")
        address = attributes.get("href") or attributes.get("data-leads-to", "https://")
        if not address.startswith(("https://", "http://", "mailto:")):
            faults.append(f"link to {address}")
        if "href" in attributes and (attributes["rel"], attributes["target"]) != (
            "noopener noreferrer nofollow",
            "_blank",
        ):
            faults.append(f"link {attributes}")
        if not attributes.get("src", origin + "/").startswith(origin + "/"):
            faults.append(f"picture from {attributes['src']}")
    return faults


@pytest.mark.slow
@pytest.mark.threat("T10", "T12")
def test_no_payload_runs_or_loads_or_brings_markup_of_its_own(page: Page, watched: Watched, static_site: str) -> None:
    faults = {}
    for name, text in everything_hostile().items():
        page.evaluate("clear()")
        page.evaluate("text => show(text)", text)
        found = faults_of(page.evaluate(INVENTORY), static_site)
        if found:
            faults[name] = found
    page.wait_for_load_state("networkidle")

    assert faults == {}
    assert (watched.dialogs, watched.foreign, page.url) == ([], [], f"{static_site}/tests/page/render.html")


@pytest.mark.slow
@pytest.mark.threat("T10", "T12")
def test_no_payload_does_harm_half_written(page: Page, watched: Watched, static_site: str) -> None:
    faults = {}
    for name, text in PAYLOADS.items():
        page.evaluate("clear()")
        found = page.evaluate(
            """async ({ text, inventory }) => {
                const seen = [];
                const step = Math.max(3, Math.ceil(text.length / 8));
                for (let end = step; end < text.length + step; end += step) {
                    await show("Before.\\n\\n" + text.slice(0, end), true);
                    seen.push(...eval(inventory)());
                }
                return seen;
            }""",
            {"text": text, "inventory": INVENTORY},
        )
        if wrong := faults_of(found, static_site):
            faults[name] = wrong
    page.wait_for_load_state("networkidle")

    assert faults == {}
    assert (watched.dialogs, watched.foreign) == ([], [])


def test_a_picture_from_elsewhere_becomes_a_link_that_says_where_it_leads(page: Page, watched: Watched) -> None:
    page.evaluate("show('![Sales by month](https://charts.example/a.png?q=1)')")

    link = page.locator("#shown a")
    assert link.inner_text() == "Picture: Sales by month (on charts.example)"
    assert (link.get_attribute("href"), link.get_attribute("data-leads-to")) == (
        None,
        "https://charts.example/a.png?q=1",
    )
    assert watched.foreign == []


def test_a_picture_of_our_own_site_is_shown(page: Page) -> None:
    page.evaluate("show('![Logo](/static/icons/hyperagent.svg)')")

    page.wait_for_function("document.querySelector('#shown img').naturalWidth > 0")


def test_a_link_whose_words_name_another_site_says_where_it_leads(page: Page) -> None:
    page.evaluate(
        "show('[https://bank.example/login](https://evil.example/x) [bank.example](https://www.bank.example/)')"
    )

    assert page.locator("#shown a").all_inner_texts() == [
        "https://bank.example/login (leads to evil.example)",
        "bank.example",
    ]


def test_code_has_its_language_colours_and_a_copy_button(page: Page, watched: Watched) -> None:
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    code = "def f(x):\n    return '<b>' + x\n"
    page.evaluate("code => show('```python\\n' + code + '```\\n\\nEnd.')", code)

    page.locator("#shown .hljs-keyword").first.wait_for()
    assert page.locator("#shown pre code").text_content() == code.rstrip("\n")
    assert page.locator("#shown figcaption span").first.inner_text() == "python"
    page.get_by_role("button", name="Copy code").click()
    page.locator("#announcements", has_text="Copied").wait_for(state="attached")
    assert page.evaluate("navigator.clipboard.readText()") == code.rstrip("\n")


def test_finished_blocks_are_left_alone_while_text_arrives(page: Page) -> None:
    changed = page.evaluate(
        """async () => {
            const parts = ["First.\\n\\n", "- a\\n- b\\n\\n", "Third.\\n\\n", "Fourth **bold** part", " goes on", "."];
            let text = parts.slice(0, 3).join("");
            await show(text + parts[3], true);
            const changes = [];
            const observer = new MutationObserver((records) => changes.push(...records));
            const options = { childList: true, characterData: true, attributes: true, subtree: true };
            const finished = [...document.querySelectorAll("#shown .prose-block")].slice(0, 2);
            for (const block of finished) observer.observe(block, options);
            const bold = document.querySelector("#shown strong");
            for (const part of parts.slice(3)) await show((text += part), true);
            return { changes: changes.length, sameBold: bold.isConnected };
        }"""
    )

    assert changed == {"changes": 0, "sameBold": True}


def test_each_block_is_told_once_when_it_is_finished(page: Page) -> None:
    page.evaluate("show('One.\\n\\nTwo', true)")
    page.evaluate("show('One.\\n\\nTwo is longer.\\n\\nThree', true)")
    page.evaluate("show('One.\\n\\nTwo is longer.\\n\\nThree.', false)")

    assert [line.strip() for line in page.locator("#announcements p").all_text_contents()] == [
        "One.",
        "Two is longer.",
        "Three.",
    ]


@pytest.mark.slow
def test_a_long_answer_stays_quick_while_it_streams(page: Page) -> None:
    """Not a time but work: the last pieces of a long text are not drawn more often than the first."""
    drawn = page.evaluate(
        """async () => {
            const paragraph = "Some **words** that make a paragraph.\\n\\n";
            let text = "";
            let added = 0;
            const count = (records) => records.forEach((record) => (added += record.addedNodes.length));
            const observer = new MutationObserver(count);
            observer.observe(document.getElementById("shown"), { childList: true, subtree: true });
            const counts = [];
            for (let round = 0; round < 2; round++) {
                added = 0;
                for (let i = 0; i < 60; i++) await show((text += paragraph), true);
                counts.push(added);
            }
            return counts;
        }"""
    )

    assert drawn[1] <= drawn[0] + 2


FORMULAS = r"""Heat is $Q = mc\Delta T$, and \(e^{i\pi} + 1 = 0\). It costs $5 and $6, or US$7.

$$x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$$

\[ \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} \]

| a | b |
|---|---|
| $y^2$ | =1+1 |
"""
HOSTILE_FORMULAS = (
    r"$\href{javascript:alert(1)}{x}$",
    r"$\url{https://evil.example}$",
    r"$$\includegraphics{https://evil.example/p.png}$$",
    r"$$\text{<img src=x onerror=alert(1)>}$$",
    r"$\style{background:url(https://evil.example)}{x}$ $\class{modal}{x}$ $\id{chat}{x}$",
    r"$$\def\a{\a\a}\a$$",
    r"$$\rule{9999em}{9999em}$$",
    r"$\color{url(https://evil.example)}x$",
    "<x-formula><img src=x onerror=alert(1)></x-formula><x-formula-block onclick=alert(1)>x</x-formula-block>",
    "$x$ <math><mtext><a href=javascript:alert(1)>y</a></mtext></math>",
)


def test_formulas_are_set_and_prices_are_not(page: Page, watched: Watched) -> None:
    page.evaluate("text => show(text)", FORMULAS)
    page.locator("#shown .formula math").nth(4).wait_for()

    assert page.locator("#shown .formula").count() == 5
    assert page.locator("#shown .formula.is-display").count() == 2
    assert page.locator("#shown mfrac msqrt").count() == 1
    assert "It costs $5 and $6, or US$7." in page.locator("#shown").inner_text()
    watched.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#shown .table-block").hover()
    page.get_by_role("button", name="Copy as CSV").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "a,b\r\ny^2,'=1+1"
    assert (watched.errors, watched.foreign) == ([], [])


@pytest.mark.threat("T10", "T12")
def test_a_formula_runs_nothing_and_loads_nothing(page: Page, watched: Watched) -> None:
    page.evaluate("show('$x$')")
    page.locator("#shown math").wait_for()
    inventory = """() => [...document.querySelectorAll("#shown .prose-block *")].map((node) => [node.localName,
        Object.fromEntries([...node.attributes].map(({ name, value }) => [name, value]))])"""

    faults = []
    for text in HOSTILE_FORMULAS:
        page.evaluate("clear()")
        page.evaluate("text => show(text)", text)
        for tag, attributes in page.evaluate(inventory):
            is_link = tag == "a" and not attributes.get("href", "").startswith("https://")
            if (
                tag in ("img", "script", "annotation-xml", "mglyph")
                or is_link
                or "onclick" in attributes
                or "id" in attributes
            ):
                faults.append((text, tag, attributes))
            if "url(" in attributes.get("style", "") or attributes.get("class", "").startswith("modal"):
                faults.append((text, tag, attributes))
    page.wait_for_load_state("networkidle")

    assert faults == []
    assert (watched.dialogs, watched.foreign) == ([], [])


@pytest.mark.slow
def test_nothing_is_broken_text_while_it_is_written(page: Page) -> None:
    """What is seen of table, list, formula and bold words at each length has none of the signs that make them."""
    seen = page.evaluate(
        """async (text) => {
            await show("$x$");
            await new Promise((resolve) => setTimeout(resolve, 0));
            const broken = [];
            for (let end = 1; end <= text.length; end++) {
                await show(text.slice(0, end), true);
                const shown = document.querySelector("#shown .prose").innerText.replace(/Copy as (CSV|TSV)/g, "");
                if (/\\*\\*|\\]\\(|\\||`|\\$|\\\\/.test(shown)) broken.push([end, shown.slice(-60)]);
            }
            return broken.slice(0, 3);
        }""",
        "Some **bold words** and `code` with [a link](https://example.org).\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- **two**\n\n$$\nx^2\n$$\n\nEnd $y_1$ here.",
    )

    assert seen == []


WIDE = """| Heating system | Purchase | Yearly cost | Noise | Subsidy | Comfort | Remarks that are rather long |
|---|---:|---:|---|---|---|---|
| Air-water heat pump | 24,000 € | 1,450 € | 35 dB | up to 70 % | high | larger radiators in an old house, and place |
| Gas condensing boiler | 11,000 € | 2,600 € | 40 dB | none | high | price of CO₂ rises |
"""


@pytest.mark.parametrize("width", [390, 760])
def test_in_a_wide_table_a_number_keeps_its_unit_and_words_have_room(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate("show", WIDE)
    lines = """(cells) => cells.map((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
    })"""

    figures = page.locator("#shown tbody td:is(:nth-child(2), :nth-child(3), :nth-child(4), :nth-child(5))")
    assert set(figures.evaluate_all(lines)) == {1}
    assert max(page.locator("#shown td").evaluate_all(lines)) <= 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "the table scrolls, not the page"


REMARKS = """| Region | Revenue | Growth | Remark |
|---|---:|---:|---|
| North | 4.2 | 3 % | The largest, and the one that grew least in the year |
"""


def test_on_a_phone_words_that_are_cut_off_are_not_narrow_as_well(page: Page) -> None:
    page.set_viewport_size({"width": 340, "height": 800})
    page.evaluate("show", REMARKS)

    frame, words = page.locator("#shown .table-frame"), page.locator("#shown td").last
    cut = frame.evaluate("(frame) => frame.scrollWidth > frame.clientWidth")
    assert not cut or words.evaluate("(cell) => cell.offsetWidth") >= 190
    assert page.evaluate("document.documentElement.scrollWidth") <= 340


def test_words_of_what_is_not_shown_as_it_is_stand_apart(page: Page) -> None:
    page.evaluate("show", "One. <details><summary>More</summary>hidden</details> after")

    lines = page.locator("#shown").inner_text().split("\n")
    assert [line.strip() for line in lines if line.strip()] == ["One.", "More", "hidden", "after"]


def test_a_formula_that_is_cut_has_the_shadow_of_an_edge(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.evaluate("show", "$$\n" + " + ".join(f"a_{{{number}}}" for number in range(60)) + "\n$$")
    formula = page.locator(".formula.is-display")
    page.locator(".formula math").wait_for()

    assert formula.evaluate("(element) => element.scrollWidth > element.clientWidth")
    assert "linear-gradient" in formula.evaluate("(element) => getComputedStyle(element).backgroundImage")
