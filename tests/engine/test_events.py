"""The closed union of events: its names and fields stay, and nothing else gets in."""

import json
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from agents.engine.events import (
    TERMINAL_TYPES,
    Body,
    CodeResult,
    Complete,
    Config,
    Error,
    EventBody,
    Handoff,
    Routing,
    SourceFound,
    Stage,
    StageStatus,
    Token,
    ToolCall,
    ToolResult,
    Visualization,
    WorkspaceUpdate,
    body_adapter,
)
from tests.engine.write_schema import SNAPSHOT, schema_text

MODELS: tuple[type[Body], ...] = get_args(get_args(EventBody)[0])
TYPES = {model.model_fields["type"].default: model for model in MODELS}

OF_DOCUMENT_0 = (
    "stage complete error token visualization tool_call tool_result routing handoff config source code_result"
)
OF_DOCUMENT_1 = (
    "image browser_stream browser_action workspace_update "
    "terminal_command terminal_output terminal_error terminal_complete"
)
MORE_OF_DOCUMENT_1 = (
    "skill_output plan_step interrupt interrupt_response plan_overview plan_step_completed todo_update "
    "parallel_start parallel_task parallel_complete"
)


def test_the_schema_is_that_of_the_snapshot() -> None:
    hint = "the events changed: what was there must stay; if so, run `python -m tests.engine.write_schema`"

    assert SNAPSHOT.read_text(encoding="utf-8") == schema_text(), hint


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(OF_DOCUMENT_0, marks=pytest.mark.spec("S134")),
        pytest.param(OF_DOCUMENT_1, marks=pytest.mark.spec("S139")),
        pytest.param(MORE_OF_DOCUMENT_1, marks=pytest.mark.spec("S140")),
    ],
)
def test_every_event_that_is_asked_for_exists(names: str) -> None:
    assert set(names.split()) - set(TYPES) == set()


@pytest.mark.spec("S141")
def test_one_union_has_all_types_and_each_name_once() -> None:
    assert len(TYPES) == len(MODELS) >= 30


@pytest.mark.spec("S135")
def test_a_stage_says_name_description_and_one_of_three_states() -> None:
    stage = {"type": "stage", "name": "plan", "description": "Plans the work", "status": "running"}

    assert body_adapter.validate_python(stage) == Stage(
        name="plan", description="Plans the work", status=StageStatus.RUNNING
    )
    assert [status.value for status in StageStatus] == ["running", "completed", "failed"]
    with pytest.raises(ValidationError, match="status"):
        body_adapter.validate_python(stage | {"status": "sleeping"})


@pytest.mark.spec("S136")
def test_a_tool_call_and_its_result_are_matched_by_id() -> None:
    call = ToolCall(tool="web_search", args={"query": "Acme"}, id="call-1")
    result = ToolResult(tool="web_search", content="Acme is a company.", id="call-1")

    assert call.model_dump(exclude_none=True) == {
        "type": "tool_call",
        "tool": "web_search",
        "args": {"query": "Acme"},
        "id": "call-1",
    }
    assert (result.type, result.id, result.content, result.clipped) == (
        "tool_result",
        call.id,
        "Acme is a company.",
        False,
    )


@pytest.mark.spec("S136")
@pytest.mark.parametrize(("length", "clipped"), [(500, False), (501, True), (100_000, True)])
def test_a_tool_result_is_clipped_to_500_characters_and_says_so(length: int, clipped: bool) -> None:
    result = ToolResult(tool="web_search", content="é" * length)

    assert (len(result.content), result.clipped) == (500, clipped)


@pytest.mark.spec("S137")
@pytest.mark.parametrize(
    "event",
    [
        Stage(name="search", description="Searching the web…", status=StageStatus.RUNNING),
        Token(content="Hello"),
        ToolCall(tool="web_search", args={}),
        ToolResult(tool="web_search", content="", is_error=True),
        Error(code="busy", message="The model provider is busy: try again."),
        Complete(answer="42"),
        Routing(agent="chat", reason="small talk"),
        Handoff(source_agent="chat", target_agent="research", task_description="Find it"),
        Config(values={"model": "small"}),
        Visualization(spec={"type": "bar"}),
        CodeResult(code="1 + 1", stdout="2"),
    ],
    ids=lambda event: event.type,
)
def test_an_event_is_made_from_its_fields_and_is_the_same_after_the_wire(event: Any) -> None:
    text = event.model_dump_json(exclude_none=True)

    assert body_adapter.validate_json(text) == event


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.model_fields["type"].default)
def test_no_event_takes_a_field_that_it_does_not_have_nor_changes_later(model: type[Body]) -> None:
    with pytest.raises(ValidationError, match="extra_forbidden"):
        model.model_validate({"surprise": 1})
    assert model.model_config["frozen"] is True


def test_a_saved_attachment_that_was_recorded_as_write_loads_as_a_file_that_was_written() -> None:
    recorded = '{"type":"workspace_update","path":"mail/offer.pdf","operation":"write","scope":"conversation"}'

    assert body_adapter.validate_json(recorded) == WorkspaceUpdate(path="mail/offer.pdf", operation="written")


def test_a_file_is_told_as_written_or_deleted_and_as_nothing_else() -> None:
    told = {"type": "workspace_update", "path": "a.md", "operation": "moved"}

    with pytest.raises(ValidationError, match="'written' or 'deleted'"):
        body_adapter.validate_python(told)


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValidationError, match="union_tag_invalid"):
        body_adapter.validate_python({"type": "surprise"})


def test_a_source_forbids_unknown_fields_too() -> None:
    with pytest.raises(ValidationError, match="extra_forbidden"):
        SourceFound.model_validate({"source": {"type": "document", "source": "10-K", "surprise": 1}})


def test_complete_and_error_end_a_stream() -> None:
    assert {"complete", "error"} == TERMINAL_TYPES <= set(TYPES)


def test_usage_and_checks_are_told_whole_whatever_is_left_out_of_an_event() -> None:
    unknown = {"prompt_tokens": 5, "completion_tokens": 0, "cost_usd": None}
    event = Complete(answer="", usage=unknown, checks=({"start": 0, "end": 1, "sentence": "A."},))

    told = event.model_dump(mode="json", exclude_none=True)

    assert told["usage"] == unknown
    assert told["checks"][0]["supported"] is None
    assert "stage" not in told


def test_an_unknown_price_is_not_free() -> None:
    usage = Complete(answer="", usage={"prompt_tokens": 5, "cost_usd": None}).usage

    assert json.loads(usage.model_dump_json()) == {"prompt_tokens": 5, "completion_tokens": 0, "cost_usd": None}
