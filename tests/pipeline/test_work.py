"""What an agent of a plan begins with, and when it does not begin at all."""

from typing import Any

import pytest

from agents.craft.exchange import AgentInput, AgentOutput, Known, OutputMetadata
from agents.engine.errors import Skipped
from agents.engine.events import Source
from agents.pipeline.work import _made_whole
from agents.registry import specs

TASK = AgentInput(agent_id="writing_agent-1", agent_name="writing", task="Write it up")


def dependency(status: str, *, done: bool = True, error: str = "", **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"result": "Found it.", "error": error or None, **more}
    output = AgentOutput(agent_id="x", agent_name="web", task_description="Look", task_done=done, **told)
    return {
        "name": "web",
        "status": status,
        "output": output.model_dump(mode="json") if status == "completed" else None,
        "error": None if status == "completed" else {"code": status, "message": f"It was {status}."},
    }


def whole(**dependencies: dict[str, Any]) -> AgentInput:
    found = {step_id: {**one, "step_id": step_id} for step_id, one in dependencies.items()}
    return _made_whole(TASK, {"dependencies": found}, None, specs()["writing"])[0]


@pytest.mark.spec("S29")
def test_it_gets_what_those_before_it_found() -> None:
    assert whole(a=dependency("completed")).dependency_outputs["a"].result == "Found it."


@pytest.mark.spec("S106")
def test_what_a_person_stopped_holds_up_nobody_who_has_something_else_to_work_on() -> None:
    task = whole(a=dependency("deleted"), b=dependency("completed"))

    assert task.dependency_outputs["a"].error == "deleted"
    assert task.dependency_outputs["b"].task_done


@pytest.mark.spec("S42", "S106")
def test_no_more_does_who_had_taken_over_from_it() -> None:
    taken_over = dependency("failed") | {"error": {"code": "deleted", "message": "code was stopped by a person."}}

    task = whole(a=taken_over, b=dependency("completed"))

    assert task.dependency_outputs["a"].error == "deleted"


@pytest.mark.parametrize(
    "dependencies",
    [
        {"a": dependency("deleted")},
        {"a": dependency("failed"), "b": dependency("completed")},
        {"a": dependency("skipped"), "b": dependency("completed")},
        {"a": dependency("completed", done=False, error="not_configured"), "b": dependency("completed")},
    ],
)
def test_it_does_not_begin_without_what_it_needs(dependencies: dict[str, Any]) -> None:
    with pytest.raises(Skipped, match="Not begun: what it needs from web was not done"):
        whole(**dependencies)


@pytest.mark.spec("S122", "S123", "S124")
@pytest.mark.parametrize("error", ["denied_by_user", "hitl_timeout", "hitl_skipped_non_streaming"])
def test_what_a_person_refused_is_read_by_those_after_it(error: str) -> None:
    assert whole(a=dependency("completed", done=False, error=error)).dependency_outputs["a"].error == error


@pytest.mark.spec("S93")
def test_new_instructions_take_the_place_of_the_task() -> None:
    value = {"task": "Write less", "modified": True}

    assert _made_whole(TASK, value, None, specs()["writing"])[0].task == "Write less"


@pytest.mark.spec("B1", "S29")
def test_what_was_recorded_before_numbers_of_sources_were_is_told_as_it_was() -> None:
    source = Source(type="web", source="A", url="https://a.example")
    said = "So it is [1, 2]."
    recorded: dict[str, Any] = {"result": said, "metadata": OutputMetadata(sources=(source,))}
    recorded["shared"] = {"research_findings": said}

    task = whole(a=dependency("completed", **recorded), b=dependency("completed", **recorded))

    assert {output.result for output in task.dependency_outputs.values()} == {said}
    assert task.shared_memory == recorded["shared"]
    assert Known().model_dump(mode="json") == {"states": {}, "writes": {}}
