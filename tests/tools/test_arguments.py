"""What models write as arguments, and what they are told of it."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from agents.engine.canonical import canonical, plain
from agents.tools.arguments import DEPTH, LIMIT_CHARS, Refusal, closest, fitted, parsed, shown
from agents.tools.tool import ANY_AGENT, Call, tool


class Filters(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["pdf", "csv"] = "pdf"
    year: int | None = None


@tool(agents=ANY_AGENT)
async def look_up(
    call: Call,
    query: Annotated[str, "What to find"],
    count: Annotated[int, Field(ge=1, le=20)] = 5,
    tags: tuple[str, ...] = (),
    filters: Filters = Filters(),  # noqa: B008
    anything: dict[str, Any] = {},  # noqa: B006
) -> str:
    """Looks something up."""
    return query


def refusal(given_arguments: Any) -> str:
    found = parsed(given_arguments, tool="look_up")
    assert isinstance(found, Refusal)
    assert found.code == "bad_arguments"
    return found.message


def faults(**arguments: Any) -> list[str]:
    found = fitted(arguments, look_up.arguments, tool="look_up")
    assert isinstance(found, Refusal)
    return found.message.splitlines()[1:-1]


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    assert parsed(text, tool="look_up") == {}


@pytest.mark.spec("S79")
def test_broken_json_is_named_with_its_position() -> None:
    assert refusal('{"query": "x"\n "count": 2}') == (
        "the arguments of look_up cannot be used: they are not JSON: Expecting ',' delimiter (line 2, column 2)."
    )
    assert "starting at (line 1, column 16)" in refusal('{"query": "x", "cou')


def test_a_python_dict_is_no_json_and_the_model_is_told_how_to_write_it() -> None:
    message = refusal("{'query': None}")

    assert "they are not JSON" in message
    assert "in double quotes" in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('["query"]', "must be one JSON object"),
        ('"query"', "must be one JSON object"),
        ('"{\\"query\\": 1}"', "must be one JSON object"),
        ("null", "are a NoneType"),
        ('{"query": NaN}', "NaN is no JSON value"),
        ('{"query": -Infinity}', "-Infinity is no JSON value"),
        ('{"query": ' + "9" * 5000 + "}", "they are not JSON"),
        ('{"query": 1' + "0" * 400 + "}", "Give it as text"),
        ('{"a": ' * 100_000 + "1" + "}" * 100_000, "700,001 characters"),
        ('{"a": ' + "[" * 20_000 + "]" * 20_000 + "}", f"nested more than {DEPTH} deep"),
        ('{"a": ' + "[" * 500 + "]" * 500 + "}", f"nested more than {DEPTH} deep"),
        ("x" * (LIMIT_CHARS + 1), "200,001 characters"),
        ('{"query": "unfinished', "they are not JSON"),
    ],
)
def test_hostile_texts_are_refused_in_words(text: str, says: str) -> None:
    assert says in refusal(text)


@pytest.mark.parametrize("value", [7, [("query", "x")], {"query": {1, 2}}, {"query": float("nan")}, {1: "x"}])
def test_a_programs_own_arguments_have_to_be_json_too(value: Any) -> None:
    assert "cannot be used" in refusal(value)


@pytest.mark.parametrize("text", ['{"id": 9007199254740993}', '{"a": {"b": [1, -9007199254740992]}}'])
def test_a_number_that_a_browser_would_show_as_another_is_refused(text: str) -> None:
    """Whoever approves a call must see exactly what is executed."""
    assert "Give it as text" in refusal(text)
    assert parsed('{"id": 9007199254740991, "yes": true}', tool="look_up") == {"id": 9007199254740991, "yes": True}


def test_what_cannot_be_stored_is_replaced_in_arguments() -> None:
    assert parsed('{"query": "a\\u0000b\\ud800"}', tool="look_up") == {"query": "a\ufffdb\ufffd"}


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda raw: raw.decode("latin-1")))
def test_no_text_of_a_model_breaks_the_reading(text: str) -> None:
    found = parsed(text, tool="look_up")

    if not isinstance(found, Refusal):
        assert plain(found) == found
        fitted(found, look_up.arguments, tool="look_up")
        canonical(shown(found))


@pytest.mark.spec("S79")
def test_every_fault_is_named_with_what_is_allowed() -> None:
    assert faults(count=0, filters={"kind": "exe", "yeer": 1}, qery="x") == [
        "- query: is missing",
        "- count: Input should be greater than or equal to 1, not 0",
        "- filters.kind: Input should be 'pdf' or 'csv', not \"exe\"",
        "- filters.yeer: there is no such argument",
        "- qery: there is no such argument; did you mean query?",
    ]


def test_many_faults_are_told_in_part() -> None:
    lines = faults(query="x", tags=list(range(100)))

    assert len(lines) == 21
    assert lines[-1] == "- and 80 more"


def test_texts_of_numbers_are_taken_for_numbers() -> None:
    found = fitted({"query": "x", "count": "7", "tags": ["a"]}, look_up.arguments, tool="look_up")

    assert isinstance(found, BaseModel)
    assert found.model_dump(mode="json", exclude_defaults=True) == {"query": "x", "count": 7, "tags": ["a"]}


def test_secrets_are_masked_wherever_they_stand() -> None:
    arguments = {
        "password": "a",
        "apiKey": "b",
        "access_token": "c",
        "nested": [{"Authorization": "d", "client-secret": "e"}],
        "max_tokens": 4,
        "broken": "kept",
        "token": "",
    }

    assert shown(arguments) == {
        "password": "***",
        "apiKey": "***",
        "access_token": "***",
        "nested": [{"Authorization": "***", "client-secret": "***"}],
        "max_tokens": 4,
        "broken": "kept",
        "token": "",
    }


def test_the_closest_name_is_found_only_if_it_is_near() -> None:
    assert closest("websearch", ("web_search", "fetch_url")) == "web_search"
    assert closest("x" * 100_000, ("web_search",)) == ""
