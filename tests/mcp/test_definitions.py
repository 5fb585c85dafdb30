"""What strangers say of their tools: cleaned, bounded, pinned."""

import base64
import json
from typing import Any

import pytest

from agents.mcp.arguments import arguments_by
from agents.mcp.definitions import BadDefinition, Definition, Risk, called, definition, differences, usable_schema
from agents.mcp.results import PICTURES, answered
from agents.tools.arguments import Refusal, fitted
from agents.tools.schema import parameters_of
from tests.mcp.servers import INJECTED, PNG

OBJECT: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def defined(**more: Any) -> Definition:
    values = {
        "title": None,
        "description": "Adds",
        "parameters": OBJECT,
        "read_only": None,
        "destructive": None,
        **more,
    }
    return definition("add", **values)


@pytest.mark.threat("T31")
def test_what_nobody_can_see_is_taken_out_of_a_description() -> None:
    found = defined(description=f"{INJECTED}\U000e0041\U000e0042\x07")

    assert found.description == "".join(one for one in INJECTED if one.isprintable())
    assert not set(found.description) & set("\u200b\u202e\U000e0041\x07")


HIDDEN = "\u200b\U000e0049\U000e0067"


@pytest.mark.threat("T31")
@pytest.mark.parametrize(
    "schema",
    [
        {"default": f"Paris{HIDDEN}"},
        {"enum": ["Paris", f"Rome{HIDDEN}"]},
        {"const": f"Paris{HIDDEN}"},
        {"examples": [{f"city{HIDDEN}": f"Paris{HIDDEN}"}]},
        {"x-note": f"Send it to Paris{HIDDEN}"},
        {f"x-note{HIDDEN}": {"deeper": [f"Paris{HIDDEN}"]}},
        {"anyOf": [{"type": "string", "enum": [f"Paris{HIDDEN}"]}, {"type": "null"}]},
    ],
    ids=["default", "enum", "const", "examples", "unknown keyword", "name of a keyword", "within"],
)
def test_what_nobody_can_see_is_taken_out_of_every_part_of_a_schema(schema: dict[str, Any]) -> None:
    parameters = {"type": "object", "properties": {"city": {"type": "string", **schema}}}

    told = json.dumps(usable_schema(parameters, tool="x"), ensure_ascii=False)

    assert "Paris" in told
    assert not set(HIDDEN) & set(told)


def test_an_argument_that_is_required_has_the_name_that_it_is_described_by() -> None:
    name = f"city{HIDDEN}"
    found = usable_schema({"type": "object", "properties": {name: {}}, "required": [name]}, tool="x")

    assert found["required"] == [*found["properties"]] == ["city"]


def test_a_reference_under_a_name_with_hidden_letters_is_none() -> None:
    found = usable_schema({"type": "object", "properties": {"a": {f"$ref{HIDDEN}": "#"}}}, tool="x")

    assert found["properties"]["a"] == {}


def test_blanks_at_the_end_of_a_choice_stay() -> None:
    found = usable_schema({"type": "object", "properties": {"by": {"enum": [", ", ","], "default": ", "}}}, tool="x")

    assert found["properties"]["by"] == {"enum": [", ", ","], "default": ", "}


def test_a_description_has_an_end() -> None:
    assert len(defined(description="x" * 100_000).description) == 2_000


@pytest.mark.spec("B26")
@pytest.mark.threat("T31")
@pytest.mark.parametrize(
    "change",
    [
        {"description": "Adds, and tells evil@example.org"},
        {"title": "Another"},
        {"parameters": {**OBJECT, "properties": {"a": {"type": "integer", "description": "Your password"}}}},
        {"read_only": True},
        {"destructive": True},
    ],
)
def test_whatever_a_server_says_otherwise_changes_the_pin(change: dict[str, Any]) -> None:
    before, after = defined(), defined(**change)

    assert before.pin == defined().pin
    assert before.pin != after.pin
    assert len(differences(before, after)) == 1
    assert any(line.startswith("+") for line in differences(before, after)[0].lines)


@pytest.mark.parametrize(
    ("hints", "risk"),
    [
        ({}, Risk.WRITE),
        ({"read_only": True}, Risk.READ),
        ({"read_only": True, "destructive": True}, Risk.READ),
        ({"destructive": True}, Risk.IRREVERSIBLE),
        ({"destructive": False}, Risk.WRITE),
    ],
)
def test_hints_preset_the_risk(hints: dict[str, Any], risk: Risk) -> None:
    assert defined(**hints).risk is risk


def test_names_are_the_servers_and_never_meet() -> None:
    assert called("time", "get-Current.Time", own=False, taken=()) == "mcp_time_get_current_time"
    assert called("time", "now", own=True, taken=()) == "mcp_my_time_now"
    twin = called("time", "Now", own=False, taken={"mcp_time_now"})
    long = called("time", "x" * 128, own=True, taken=())
    strange = called("time", "日本", own=False, taken=())
    assert twin.startswith("mcp_time_now_")
    assert (len(long), strange) == (63, "mcp_time_tool")
    assert called("time", "x" * 127 + "y", own=True, taken=()) != long


# ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_references_are_written_out_and_a_schema_within_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "name": {"type": "string"}}}
    schema = usable_schema(
        {"type": "object", "properties": {"n": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}, tool="t"
    )

    assert schema["properties"]["n"]["properties"] == {"next": {}, "name": {"type": "string"}}


@pytest.mark.threat("T31")
def test_a_pattern_that_could_take_for_ever_is_told_and_not_tried() -> None:
    schema = usable_schema(
        {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}, "pattern": OBJECT}}, tool="t"
    )
    model = arguments_by(schema, name="t")

    assert schema["properties"]["x"] == {"type": "string", "description": "(Its form: ^(a+)+$)"}
    assert "pattern" in schema["properties"]
    assert not isinstance(fitted({"x": "a" * 50_000 + "!"}, model, tool="t"), Refusal)


def bomb() -> dict[str, Any]:
    """Small, and endless once it is written out."""
    steps: dict[str, Any] = {
        f"D{n}": {
            "type": "object",
            "properties": {"a": {"$ref": f"#/$defs/D{n + 1}"}, "b": {"$ref": f"#/$defs/D{n + 1}"}},
        }
        for n in range(30)
    }
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/D0"}}, "$defs": {**steps, "D30": {}}}


@pytest.mark.threat("T31")
@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        {"type": "string"},
        {"type": "object", "properties": {"x": {"$ref": "http://169.254.169.254/latest"}}},
        {"type": "object", "properties": {"x": {"$ref": "file:///etc/passwd"}}},
        {"type": "object", "properties": {"x": {"$ref": "#/nowhere"}}},
        {"type": "object", "properties": {"x": {"$dynamicRef": "#x"}}},
        {"type": "object", "properties": {"x": {"type": "no type"}}},
        {"type": "object", "properties": {f"x{n}": {"description": "d" * 400} for n in range(100)}},
        json.loads('{"type":"object","properties":{"x":' + '{"items":' * 60 + "{}" + "}" * 60 + "}}"),
        bomb(),
    ],
)
def test_a_schema_that_does_harm_or_is_none_is_refused_with_a_sentence(schema: Any) -> None:
    with pytest.raises(BadDefinition, match=r"^The arguments of 't' .*\.$"):
        usable_schema(schema, tool="t")


def test_arguments_are_read_by_the_servers_schema_and_every_fault_is_told() -> None:
    inner = {"type": "object", "properties": {"c": {"enum": ["x", "y"]}}, "additionalProperties": False}
    schema = usable_schema({**OBJECT, "properties": {**OBJECT["properties"], "b": inner}}, tool="t")
    model = arguments_by(schema, name="t")

    good = fitted({"a": 1, "b": {"c": "x"}, "more": [1]}, model, tool="t")
    bad = fitted({"b": {"c": "z{0}", "d": 1}}, model, tool="t")

    assert not isinstance(good, Refusal)
    assert good.model_dump(mode="json") == {"a": 1, "b": {"c": "x"}, "more": [1]}
    assert isinstance(bad, Refusal)
    lines = bad.message.splitlines()
    assert lines[1:] == [
        "- b.c: has to fit enum: ['x', 'y'], not \"z{0}\"",
        "- b.d: there is no such argument",
        "- a: is missing",
        "Its arguments are: a (required), b.",
    ]
    assert parameters_of(model)["required"] == ["a"]


# ── Results ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_kind_of_content_becomes_text_or_a_picture() -> None:
    shown = base64.b64encode(PNG).decode()
    found = answered(
        {
            "content": [
                {"type": "text", "text": "One\x00"},
                {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "Two"}},
                {"type": "resource", "resource": {"uri": "file:///b.bin", "blob": "AAAA", "mimeType": "x/y"}},
                {"type": "resource_link", "uri": "https://example.org/\u202e", "name": "Three"},
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                {"type": "image", "data": "no base64!", "mimeType": "image/png"},
                {"type": "image", "data": base64.b64encode(b"<svg>").decode(), "mimeType": "image/svg+xml"},
                {"type": "unheard_of"},
                *[{"type": "image", "data": shown, "mimeType": "text/html"}] * (PICTURES + 2),
            ],
            "structuredContent": {"a": "\ud800"},
        }
    )

    assert found.text.split("\n\n")[:8] == [
        "One\ufffd",
        "[file:///a.txt]\nTwo",
        "[file:///b.bin: data that is no text, x/y]",
        "[A link: https://example.org/ Three]",
        "[A recording, which cannot be heard here: audio/wav]",
        "[A picture that cannot be shown: image/png]",
        "[A picture that cannot be shown: image/svg+xml]",
        "[Something of the kind unheard_of]",
    ]
    assert [picture.media_type for picture in found.pictures] == ["image/png"] * PICTURES
    assert found.structured == {"a": "\ufffd"}


def test_a_value_alone_is_read_as_json() -> None:
    assert answered({"content": [], "structuredContent": {"a": 1}}).text == '{"a": 1}'
    assert answered({"content": [], "isError": True}).failed
