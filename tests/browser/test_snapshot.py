"""A page as text, and what its references mean."""

from agents.browser.snapshot import TEXT_CHARS, outline_of, shown_in

PAGE = """- generic [active] [ref=e1] [box=8,8,1264,696]:
  - 'heading "Hi: there" [level=1] [ref=e2] [box=8,-90,1264,37]'
  - list [ref=e20] [box=0,-80,10,10]:
    - text: above the screen
  - 'link "a: \\"b\\" ''c'' [ref=e9]" [ref=e3] [cursor=pointer] [box=8,67,110,17]':
    - /url: /x
  - textbox "Password" [ref=e5] [box=160,66,177,21]: secret
  - button "Go" [ref=e6] [box=337,66,34,21]
  - button "Go" [ref=e7] [box=371,66,34,21]
  - paragraph [ref=e12] [box=8,280,1264,18]: hello [ref=e6]"""


def test_elements_are_told_apart_and_what_was_typed_into_a_field_is_no_part_of_what_it_is() -> None:
    elements = outline_of(PAGE).elements

    assert elements["e6"] == 'button "Go" (1 of 2)'
    assert elements["e7"] == 'button "Go" (2 of 2)'
    assert elements["e5"] == 'textbox "Password"'
    assert elements["e2"] == 'heading "Hi: there"'


def test_a_name_that_looks_like_a_reference_is_none() -> None:
    elements = outline_of(PAGE).elements

    assert elements["e3"] == 'link "a: \\"b\\" \'c\' [ref=e9]"'
    assert elements["e12"] == "paragraph hello [ref=e6]"
    assert "e9" not in elements


def test_the_text_begins_with_what_is_on_the_screen_and_has_no_boxes() -> None:
    outlined = outline_of(PAGE)

    assert "Hi: there" not in outlined.text
    assert "above the screen" not in outlined.text
    assert "[box=" not in outlined.text
    assert "e2" in outlined.elements
    assert "e2" not in shown_in(outlined)


def test_a_long_page_is_cut_and_says_so_and_a_strange_one_is_text() -> None:
    long = outline_of("\n".join(f'- button "{number}" [ref=e{number}]' for number in range(5_000)))
    strange = outline_of("what is this\n  - [[[\n- '")

    assert len(long.text) < TEXT_CHARS + 100
    assert long.text.endswith("scroll down to read on)")
    assert len(shown_in(long)) < len(long.elements)
    assert strange.elements == {}
    assert "what is this" in strange.text
