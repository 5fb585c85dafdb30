"""What a condition fits, with a model on the other side that chooses its arguments so as to get past."""

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hitl.conditions import Condition, covers, domain_of, items_at, touches
from hitl.globs import glob_fits
from hitl.kinds import Op
from tests.hitl.standing import unhurried

texts = st.text(max_size=30)
scalars = st.one_of(texts, st.integers(), st.floats(allow_nan=True), st.booleans())
values = {
    Op.EQUALS: scalars,
    Op.ONE_OF: st.lists(scalars, min_size=1, max_size=4),
    Op.DOMAIN: st.sampled_from(["corp.com", "example.org", "straße.de"]),
    Op.STARTS_WITH: st.text(min_size=1, max_size=10),
    Op.MATCHES: st.text(alphabet="ab*?/.", min_size=1, max_size=12),
    Op.AT_MOST: st.integers() | st.floats(allow_nan=False, allow_infinity=False),
}
conditions = st.sampled_from(list(Op)).flatmap(
    lambda op: st.builds(Condition, path=st.sampled_from(["to", "a.b", "a.b.c"]), op=st.just(op), value=values[op])
)
jsons = st.recursive(st.none() | scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=8)


def fits(op: Op, value: Any, argument: Any) -> bool:
    return covers([Condition("x", op, value)], {"x": argument})


def hits(op: Op, value: Any, argument: Any) -> bool:
    return touches([Condition("x", op, value)], {"x": argument})


@pytest.mark.slow
@pytest.mark.spec("B7")
@unhurried
@given(conditions, st.dictionaries(texts.filter(lambda name: name not in ("to", "a")), jsons, max_size=4))
def test_no_condition_fits_a_missing_argument(condition: Condition, others: dict[str, Any]) -> None:
    assert not covers([condition], others)
    assert not touches([condition], others)


@unhurried
@given(conditions)
@example(Condition("a.b", Op.EQUALS, None))
def test_null_is_as_missing(condition: Condition) -> None:
    for arguments in ({"to": None, "a": None}, {"to": [None], "a": {"b": None}}, {"to": [], "a": [{"b": {"c": None}}]}):
        found = condition.op is Op.DOMAIN and condition.path == "to" and arguments["to"] == []
        assert covers([condition], arguments) == found
        assert not touches([condition], arguments)


@pytest.mark.slow
@unhurried
@given(conditions, jsons, st.lists(jsons, max_size=3))
@example(Condition("a.b", Op.EQUALS, True), [[]], [True])
def test_whatever_the_arguments_are_there_is_an_answer_and_more_items_never_make_it_fit(
    condition: Condition, first: Any, more: list[Any]
) -> None:
    def arguments(value: Any) -> dict[str, Any]:
        return {"to": value, "a": {"b": value}}

    allowed_alone, denied_alone = covers([condition], arguments([first])), touches([condition], arguments([first]))

    # A list of nothing, however deep, is no item.
    if covers([condition], arguments([first, *more])) and items_at({"to": first}, "to")[0]:
        assert allowed_alone
    if denied_alone:
        assert touches([condition], arguments([first, *more]))


@pytest.mark.slow
@unhurried
@given(st.lists(conditions, min_size=1, max_size=4), jsons)
def test_all_conditions_have_to_hold(several: list[Condition], value: Any) -> None:
    arguments = {"to": value, "a": {"b": value}}

    assert covers(several, arguments) == all(covers([one], arguments) for one in several)
    assert touches(several, arguments) == all(touches([one], arguments) for one in several)


@unhurried
@given(conditions, st.sampled_from(["x@corp.com", "abba", "/a/b", "x", 3, True, 2.5]))
def test_what_a_rule_that_allows_fits_a_rule_that_denies_would_fit_too(condition: Condition, value: Any) -> None:
    arguments = {"to": value, "a": {"b": value}}

    if covers([condition], arguments):
        assert touches([condition], arguments)


@pytest.mark.parametrize(
    "given_", ["bob@corp.com", "BOB@Corp.COM", "o'brien+x@corp.com", ["a@corp.com", "b@corp.com"], ("a@corp.com",), []]
)
def test_addresses_of_the_domain_are_covered(given_: Any) -> None:
    assert fits(Op.DOMAIN, "corp.com", given_)


@pytest.mark.parametrize(
    "trick",
    [
        "x@evil.com",
        "x@mail.corp.com",
        "x@corp.com.evil.com",
        "x@evilcorp.com",
        "corp.com",
        "@corp.com",
        "x@",
        "",
        ["a@corp.com", "x@evil.com"],
        [["a@corp.com"], ["x@evil.com"]],
        {"to": "a@corp.com"},
        7,
        True,
        "evil@evil.com, x@corp.com",
        "x@corp.com, evil@evil.com",
        "x@corp.com;evil@evil.com",
        "x@evil.com x@corp.com",
        "x@corp.com\nBcc: evil@evil.com",
        "x@corp.com\r\nevil@evil.com",
        "x@evil.com@corp.com",
        "x@corp.com@evil.com",
        '"ceo@corp.com" <x@evil.com>',
        "ceo@corp.com <x@evil.com>",
        "<x@evil.com>ceo@corp.com",
        "Bob <bob@corp.com>",
        "x@evil.com(@corp.com)",
        "x%evil.com@corp.com",
        "evil.com!x@corp.com",
        "@evil.com:x@corp.com",
        '"x@evil.com"@corp.com',
        "x@c\u043erp.com",
        "x@corp.com\u200b",
        "x@corp.com\u202e",
        "x@corp.com\u00a0",
        "x@evil.com\uff20corp.com",
        "x\uff20corp.com",
        "x@\uff43orp.com",
        "x@corp\u2024com",
        "x@evil.com\ufe6bcorp.com",
        "x@corp\u3002com",
        "x@corp.com.",
    ],
)
def test_nothing_that_could_reach_another_is_covered_by_a_domain(trick: Any) -> None:
    assert not fits(Op.DOMAIN, "corp.com", trick)


def test_a_domain_that_folds_to_the_same_letters_is_another() -> None:
    assert not fits(Op.DOMAIN, "strasse.de", "x@straße.de")
    assert fits(Op.DOMAIN, "straße.de", "x@STRAßE.de")
    assert domain_of("x@xn--strae-oqa.de") == "xn--strae-oqa.de"


@pytest.mark.parametrize(
    "spelling",
    [
        "x@evil.com",
        "X@EVIL.COM",
        ["a@corp.com", "x@evil.com"],
        "a@corp.com, x@evil.com",
        '"ceo@corp.com" <x@evil.com>',
        "<x@evil.com>",
        "x@\uff45vil.com",
        "x\uff20evil.com",
        "x@evil.com.",
        "x@evil.com@corp.com",
        "x@evil\u3002com",
        "a@corp.com;x@evil.com",
        [["a@corp.com"], ["x@evil.com"]],
    ],
)
def test_a_domain_that_is_denied_is_found_in_every_spelling_and_in_any_item(spelling: Any) -> None:
    assert hits(Op.DOMAIN, "evil.com", spelling)


@pytest.mark.parametrize("denied", ["straße.de", "xn--strae-oqa.de", "strasse.de"])
def test_a_domain_that_is_denied_is_found_as_servers_know_it(denied: str) -> None:
    assert hits(Op.DOMAIN, denied, "x@STRAßE.de")


def test_a_domain_that_is_denied_is_not_found_where_it_is_not() -> None:
    assert not hits(Op.DOMAIN, "evil.com", ["x@corp.com", "x@notevil.com", "x@sub.evil.com", "evil.com"])


@pytest.mark.parametrize(
    ("value", "argument"),
    [(1, True), (1, "1"), ("1", 1), (True, 1), ("a", "A"), ("a", "a "), ("é", "e\u0301"), (0, "")],
)
def test_equal_is_to_the_letter_and_of_one_kind(value: Any, argument: Any) -> None:
    assert not fits(Op.EQUALS, value, argument)
    assert not fits(Op.ONE_OF, [value, "other"], argument)


def test_equal_covers_the_same_and_one_of_each_item() -> None:
    assert fits(Op.EQUALS, 2, 2.0)
    assert fits(Op.EQUALS, "a", ["a", "a"])
    assert fits(Op.ONE_OF, ["a", "b"], ["b", "a"])
    assert not fits(Op.ONE_OF, ["a", "b"], ["b", "c"])
    assert not fits(Op.ONE_OF, ["a", "b"], [])


def test_what_is_denied_is_denied_in_any_letters() -> None:
    assert hits(Op.EQUALS, "Prod", [" pROD "])
    assert hits(Op.EQUALS, 1, "1")
    assert hits(Op.ONE_OF, ["prod", "live"], ["test", "\uff2cIVE"])
    assert hits(Op.STARTS_WITH, "/etc", "/ETC/passwd")
    assert hits(Op.MATCHES, "/etc/**", ["/tmp/x", "/Etc/passwd"])


@pytest.mark.parametrize(
    "trick",
    [
        "/reports/../etc/passwd",
        "/reports/..",
        "/reports/%2e%2e/etc",
        "/reports/%252e%252e/etc",
        "/reports/..\\etc",
        "/reports\\..\\etc",
        "/reports/\uff0e\uff0e/etc",
        "/reports/.\t./etc",
        "/reports/.. /etc",
        "/reports/..;a=b/etc",
        "/REPORTS/x",
        "x/reports/",
        ["/reports/a", "/etc/passwd"],
        5,
    ],
)
def test_a_beginning_is_not_left_again(trick: Any) -> None:
    assert not fits(Op.STARTS_WITH, "/reports/", trick)
    assert not fits(Op.MATCHES, "/reports/**", trick)


def test_a_beginning_covers_what_is_below_it() -> None:
    assert fits(Op.STARTS_WITH, "/reports/", ["/reports/a.pdf", "/reports/2026/..hidden", "/reports/a..b"])
    assert hits(Op.STARTS_WITH, "/etc/", "/tmp/../etc/passwd")


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("*.pdf", "a.pdf", True),
        ("*.pdf", "a.pdf.exe", False),
        ("*.pdf", "x/a.pdf", False),
        ("*.pdf", "x\\a.pdf", False),
        ("**.pdf", "x/a.pdf", True),
        ("/a/*/c", "/a/b/c", True),
        ("/a/*/c", "/a//c", True),
        ("/a/*/c", "/a/b/b/c", False),
        ("/a/**/c", "/a/b/b/c", True),
        ("?", "a", True),
        ("?", "/", False),
        ("?", "", False),
        ("*", "", True),
        ("a", "ab", False),
        ("a", "ba", False),
        ("[a]", "a", False),
        ("[a]", "[a]", True),
        ("a.c", "abc", False),
        ("*\n", "a\n", True),
        ("a", "a\n", False),
    ],
)
def test_a_pattern_fits_the_whole_text(pattern: str, text: str, expected: bool) -> None:
    assert glob_fits(pattern, text) is expected


def slowly(pattern: str, text: str) -> bool:
    """The same by its definition."""
    if not pattern:
        return not text
    if pattern.startswith("*"):
        rest = pattern.lstrip("*")
        crosses = len(pattern) - len(rest) > 1
        ends = range(len(text) + 1)
        return any(slowly(rest, text[end:]) for end in ends if crosses or not set(text[:end]) & {"/", "\\"})
    fits_one = bool(text) and (text[0] not in "/\\" if pattern[0] == "?" else text[0] == pattern[0])
    return fits_one and slowly(pattern[1:], text[1:])


@unhurried
@given(st.text(alphabet="ab/*?", max_size=7), st.text(alphabet="ab/\\", max_size=8))
def test_a_pattern_fits_as_it_is_defined(pattern: str, text: str) -> None:
    assert glob_fits(pattern, text) == slowly(pattern, text)


def test_the_worst_pattern_takes_no_longer_than_its_text() -> None:
    """By backtracking this would not end within the test's time limit."""
    assert not glob_fits("*a" * 90 + "b", "a" * 100_000)
    assert not fits(Op.MATCHES, "**", "a" * 100_001)
    assert hits(Op.MATCHES, "b", "a" * 100_001)


@pytest.mark.parametrize("argument", [math.nan, math.inf, "5", True, None, [5, 11], 10.01, 10**400, {"x": 1}])
def test_at_most_covers_numbers_up_to_it_only(argument: Any) -> None:
    assert not fits(Op.AT_MOST, 10, argument)


def test_at_most_covers_numbers_up_to_it() -> None:
    assert fits(Op.AT_MOST, 10, [10, 9.99, -(10**400), -math.inf])


def test_a_deep_nest_of_lists_is_looked_through() -> None:
    deep: Any = ["x@evil.com", "a@corp.com"]
    for _ in range(5_000):
        deep = [deep]

    assert not fits(Op.DOMAIN, "corp.com", deep)
    assert hits(Op.DOMAIN, "evil.com", deep)


def test_what_is_within_an_argument_is_named_by_dots_and_looked_at_in_every_item() -> None:
    condition = Condition("mails.to", Op.DOMAIN, "corp.com")

    assert covers([condition], {"mails": [{"to": "a@corp.com"}, {"to": ["b@corp.com"]}]})
    assert not covers([condition], {"mails": [{"to": "a@corp.com"}, {}]})
    assert not covers([condition], {"mails": [{"to": "a@corp.com"}, "x@evil.com"]})
    assert not covers([condition], {"mails.to": "a@corp.com"})
    evil = Condition("mails.to", Op.DOMAIN, "evil.com")
    assert touches([evil], {"mails": [{}, {"to": None}, "no mail", {"to": ["a@corp.com", "x@evil.com"]}]})


@pytest.mark.parametrize(
    ("op", "value"),
    [(Op.DOMAIN, ""), (Op.DOMAIN, 5), (Op.STARTS_WITH, ""), (Op.STARTS_WITH, None), (Op.MATCHES, ""), (Op.MATCHES, 1),
     (Op.AT_MOST, math.nan), (Op.AT_MOST, "9"), (Op.ONE_OF, "abc")],
)  # fmt: skip
def test_a_condition_that_means_nothing_fits_nothing(op: Op, value: Any) -> None:
    for argument in ("", "a", "a@b", "no address", 1, [], ["a"]):
        assert not fits(op, value, argument)
        assert not hits(op, value, argument)
