"""Plans for tests of whole turns, and the model's lines that go with them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.scripted.script import Script, ScriptedCall

QUESTION = "First look at the numbers, then compare them, and then write it all up for the board."
SATISFIED = json.dumps({"satisfied": True, "feedback": "", "redo": []})

# The three patterns of the documents and a wide one, as who waits for whom.
PARALLEL: Mapping[str, Sequence[str]] = {"alpha": (), "beta": ()}
CHAIN: Mapping[str, Sequence[str]] = {"alpha": (), "beta": ("alpha",), "gamma": ("beta",)}
DIAMOND: Mapping[str, Sequence[str]] = {
    "alpha": (),
    "beta": ("alpha",),
    "gamma": ("alpha",),
    "delta": ("beta", "gamma"),
}
TWELVE: Mapping[str, Sequence[str]] = {
    **{f"root{number}": () for number in range(4)},
    **{f"middle{number}": (f"root{number % 4}", f"root{(number + 1) % 4}") for number in range(6)},
    "left": ("middle0", "middle1", "middle2"),
    "right": ("middle3", "middle4", "middle5"),
}
SHAPES = {"parallel": PARALLEL, "chain": CHAIN, "diamond": DIAMOND, "twelve agents": TWELVE}


def plan_text(graph: Mapping[str, Sequence[str]], *, agent: str = "chat") -> str:
    """The planner's answer that asks for this graph; each task says its own name."""
    return json.dumps(
        {
            "analysis": {"intent": "a report", "entities": {"quarter": "Q3"}},
            "execution_plan": [
                {"id": name, "agent": agent, "task": f"Work on {name} now.", "depends_on": list(others)}
                for name, others in graph.items()
            ],
        }
    )


def lines(graph: Mapping[str, Sequence[str]], **pace: Any) -> list[Script]:
    """What the model answers to planner, agents, verifier and composer, each asked once."""
    return [
        Script(match=QUESTION, text=plan_text(graph)),
        *(Script(match=f"Work on {name} now.", text=f"Found {name}.", **pace) for name in graph),
        Script(match=QUESTION, text=SATISFIED),
        Script(match=QUESTION, text="The board reads: all of it was found."),
    ]


def order(said: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """When each task of the plan began and ended, by the names that the tests gave them."""
    names: dict[str, str] = {}
    for event in said:
        if event["type"] == "plan_overview":
            names |= {step["id"]: step["task"].split()[2] for step in event["steps"]}
    found: list[tuple[str, str]] = []
    for event in said:
        if event["type"] == "agent_state" and event.get("step_id"):
            moment = {"pending": "planned", "running": "began"}.get(event["status"], "ended")
            found.append((moment, names[event["step_id"]]))
    return [(moment, name) for moment, name in found if moment != "planned"]


def forking(*prompts: str) -> list[ScriptedCall]:
    """Calls of `fork` in one answer, a chat agent for each prompt."""
    return [ScriptedCall(name="fork", arguments=json.dumps({"prompt": prompt, "agent": "chat"})) for prompt in prompts]
