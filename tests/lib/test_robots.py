"""What a site's robots.txt allows."""

import pytest

from hyperagent.lib.outside.robots import may_read

TEXT = """
User-agent: other
Disallow: /

User-agent: *
Disallow: /private   # a comment
Allow: /private/open
Disallow: /*.zip$
Disallow: /search*order=
Disallow:
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True), ("/private", False), ("/private/x", False), ("/private/open/x", True), ("/a/b.zip", False),
        ("/a/b.zip?x", True), ("/search?q=1", True), ("/search?q=1&order=2", False), ("/robots.txt", True),
    ],
)  # fmt: skip
def test_the_longest_rule_that_fits_decides(path: str, allowed: bool) -> None:
    assert may_read(TEXT, path) is allowed


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/über-uns", "/%C3%BCber-uns/team"),
        ("/%c3%bcber-uns", "/%C3%BCber-uns/team"),
        ("/%7Ebob/", "/~bob/page"),
        ("/~bob/", "/%7ebob/page"),
        ("/*/日本$", "/a/%E6%97%A5%E6%9C%AC"),
    ],
    ids=["letters", "small escapes", "needless escape", "needless escape in the path", "pattern"],
)
def test_a_path_is_the_same_however_its_letters_are_written(rule: str, path: str) -> None:
    assert not may_read(f"User-agent: *\nDisallow: {rule}", path)


def test_a_mark_at_the_beginning_of_the_file_hides_no_rule() -> None:
    assert not may_read("\ufeffUser-agent: *\nDisallow: /private", "/private")


def test_the_group_that_names_us_counts_alone() -> None:
    text = "User-agent: *\nDisallow: /\n\nUser-Agent: HyperAgent\nuser-agent: friend\nDisallow: /not-you\n"

    assert may_read(text, "/page")
    assert not may_read(text, "/not-you/page")


@pytest.mark.parametrize(
    "text", ["", "<html>no such page</html>", "Disallow: /", "\x00:::", "User-agent: *\nCrawl-delay: 5"]
)
def test_a_text_without_rules_for_us_allows_everything(text: str) -> None:
    assert may_read(text, "/page")


def test_a_pattern_made_to_take_for_ever_does_not() -> None:
    text = f"User-agent: *\nDisallow: /{'a*' * 5_000}b$"

    assert may_read(text, "/" + "a" * 100_000)


def test_a_text_that_names_very_many_programs_takes_no_longer_than_its_length() -> None:
    """Half a megabyte, which is read: each rule kept for each name takes minutes, and more memory than there is."""
    text = "user-agent: other\n" * 15_000 + "user-agent: *\n" + "allow: /\n" * 20_000 + "disallow: /private\n"

    assert may_read(text, "/page")
    assert not may_read(text, "/private")


def test_a_group_names_us_among_many() -> None:
    text = "user-agent: one\nuser-agent: hyperagent\nuser-agent: two\ndisallow: /a\n\nuser-agent: three\ndisallow: /b\n"

    assert not may_read(text, "/a")
    assert may_read(text, "/b")
