"""A tool's JSON schema, from its signature; and functions that are no whole tool."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from agents.runtime.context import AgentContext
from agents.tools.tool import ANY_AGENT, BadTool, Call, ToAddress, composite, tool


class Range(BaseModel):
    """From one day to another."""

    title: str = Field(description="What it is called")
    start: str | None = None


class Node(BaseModel):
    children: list["Node"] = []


def spec_of(function: Any) -> dict[str, Any]:
    return tool(agents=ANY_AGENT)(function).spec().parameters


@pytest.mark.spec("S185")
def test_the_schema_has_types_texts_defaults_and_limits_of_the_signature() -> None:
    @tool(agents=ANY_AGENT)
    async def search(
        call: Call,
        query: Annotated[str, "What to search for", Field(min_length=1)],
        kind: Annotated[Literal["basic", "news"], "Which sort"] = "basic",
        count: Annotated[int, Field(ge=1, le=20)] = 5,
        tags: tuple[str, ...] = (),
        exact: bool = False,
    ) -> str:
        """Searches.

        Not for documents.
        """
        return query

    spec = search.spec()

    assert (spec.name, spec.description) == ("search", "Searches.\n\nNot for documents.")
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to search for", "minLength": 1},
            "kind": {"type": "string", "enum": ["basic", "news"], "description": "Which sort", "default": "basic"},
            "count": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            "exact": {"type": "boolean", "default": False},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def test_a_nested_model_is_written_out_and_a_property_may_be_called_title() -> None:
    async def find(call: Call, within: Annotated[Range, "When"], also: list[Range] = []) -> str:  # noqa: B006
        """Finds."""
        return ""

    found = spec_of(find)["properties"]

    fields = {
        "title": {"type": "string", "description": "What it is called"},
        "start": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    }
    assert found["within"] == {
        "type": "object",
        "description": "When",
        "properties": fields,
        "required": ["title"],
    }
    assert found["also"]["items"]["properties"] == fields


def test_a_tool_without_arguments_takes_an_empty_object() -> None:
    async def now(call: Call) -> str:
        """Says the time."""
        return ""

    assert spec_of(now) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_nested_value_reaches_the_function_as_its_own_type() -> None:
    async def find(call: Call, within: Range) -> str:
        """Finds."""
        return ""

    values = tool(agents=ANY_AGENT)(find).arguments.model_validate({"within": {"title": "Q3"}})

    assert values.within == Range(title="Q3")  # type: ignore[attr-defined]


def not_async() -> Any:
    def find(call: Call) -> str:
        """Finds."""
        return ""

    return find


def no_docstring() -> Any:
    async def find(call: Call) -> str:
        return ""

    return find


def untyped() -> Any:
    async def find(call: Call, query) -> str:  # type: ignore[no-untyped-def]
        """Finds."""
        return ""

    return find


def wrong_first() -> Any:
    async def find(query: str) -> str:
        """Finds."""
        return ""

    return find


def no_parameter() -> Any:
    async def find() -> str:
        """Finds."""
        return ""

    return find


def starred() -> Any:
    async def find(call: Call, *queries: str) -> str:
        """Finds."""
        return ""

    return find


def indescribable() -> Any:
    async def find(call: Call, query: Callable[[], int]) -> str:
        """Finds."""
        return ""

    return find


def endless() -> Any:
    async def find(call: Call, node: Node) -> str:
        """Finds."""
        return ""

    return find


def hidden() -> Any:
    async def find(call: Call, _query: str) -> str:
        """Finds."""
        return ""

    return find


@pytest.mark.spec("S182", "S185")
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (not_async, "must be an async function"),
        (no_docstring, "has no docstring"),
        (untyped, "parameter 'query' has no type"),
        (wrong_first, "its first parameter must be annotated as Call"),
        (no_parameter, "its first parameter must be annotated as Call"),
        (starred, r"\*queries cannot be described"),
        (indescribable, "its parameters cannot be described"),
        (endless, "Node contains itself"),
        (hidden, "must not begin with _"),
    ],
)
def test_a_function_that_is_no_whole_tool_is_refused_with_what_it_lacks(make: Any, says: str) -> None:
    with pytest.raises(BadTool, match=f"tool 'find'.*{says}"):
        tool(agents=ANY_AGENT)(make())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": "Find It"}, "a name is small letters"),
        ({"probe": lambda call: None}, "only reads"),
        ({"effect": "writes"}, "effect='writes' means nothing"),
        ({"agents": "chat"}, "agents has to be a tuple"),
        ({"sends": ToAddress("url")}, "has no argument 'url'"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], says: str) -> None:
    async def find(call: Call) -> str:
        """Finds."""
        return ""

    with pytest.raises(BadTool, match=says):
        tool(**{"agents": ANY_AGENT, **options})(find)


def test_a_composite_tool_gets_the_context_instead() -> None:
    async def both(context: AgentContext, name: str) -> str:
        """Does both."""
        return ""

    assert spec_properties(composite(agents=ANY_AGENT)(both)) == ["name"]
    with pytest.raises(BadTool, match="first parameter must be annotated as Call"):
        tool(agents=ANY_AGENT)(both)


def test_a_single_call_is_no_composite_tool() -> None:
    async def find(call: Call) -> str:
        """Finds."""
        return ""

    with pytest.raises(BadTool, match="first parameter must be annotated as AgentContext"):
        composite(agents=ANY_AGENT)(find)


@pytest.mark.parametrize("said", [{"effect": "write"}, {"untrusted": True}, {"timeout_s": 5}])
def test_what_holds_for_single_calls_is_not_said_of_a_composite(said: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(said))):
        composite(agents=ANY_AGENT, **said)


def spec_properties(found: Any) -> list[str]:
    return list(found.spec().parameters["properties"])
