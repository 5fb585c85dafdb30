"""Runs as their event logs tell them, for the page to show: built from the event types themselves, so that a field that
does not exist cannot be told. Nothing here opens a browser.
"""

import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from agents.engine import events as e

Json = dict[str, Any]
BEFORE_MS = 42_000
ROOT = "root"


def agent_id(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


@dataclass
class Recorded:
    """The log of one run. Times begin a while ago and go on with each event, or with `wait`."""

    execution_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    began_ms: int = field(default_factory=lambda: int(time.time() * 1000) - BEFORE_MS)
    events: list[Json] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    now_ms: int = 0

    def __post_init__(self) -> None:
        self.now_ms = self.began_ms
        if self.events:
            return
        self.tell(ROOT, e.AgentState(agent_name="turn", status="running"))
        self.tell(ROOT, e.StatusChanged(status="running"))

    def wait(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)

    def tell(self, agent: str, *bodies: e.Body) -> "Recorded":
        for body in bodies:
            self.now_ms += 20
            told = {"seq": len(self.events) + 1, "execution_id": self.execution_id, "agent_id": agent_id(agent)}
            self.events.append({**body.model_dump(mode="json"), **told, "timestamp": self.now_ms})
        return self

    def agent(self, key: str, name: str, status: str, *, parent: str = ROOT, **more: Any) -> None:
        """A node of the tree appears or changes."""
        self.parents.setdefault(key, parent)
        above = agent_id(self.parents[key])
        self.tell(key, e.AgentState(agent_name=name, parent_id=above, status=status, **more))

    def say(self, agent: str, text: str) -> None:
        for word in text.split(" "):
            self.tell(agent, e.Token(content=f"{word} "))

    def finish(self, answer: str, *sources: e.Source, checks: tuple[e.Check, ...] = ()) -> None:
        usage = e.Usage(prompt_tokens=9_340, completion_tokens=1_812, cost_usd=0.0412)
        self.tell(ROOT, e.AgentState(agent_name="turn", status="completed"))
        self.tell(ROOT, e.Complete(answer=answer, sources=sources, checks=checks, usage=usage))

    def until(self, seq: int) -> "Recorded":
        """The same run, as far as it was told up to this number."""
        return Recorded(self.execution_id, self.began_ms, self.events[:seq])

    @property
    def last(self) -> Json:
        return self.events[-1]


QUESTION = (
    "Compare the three vector databases for our support search, check the numbers, and write me a recommendation."
)
ANSWER = """**Recommendation: stay with Postgres and pgvector.** At your size it is as fast as the others [1], and
nothing new has to be run.

| Database | p95 at 300,000 | Cost a month |
|---|---:|---:|
| pgvector | 12 ms | 0 |
| Qdrant | 9 ms | 95 |
| Weaviate | 14 ms | 130 |

The difference of 3 ms is below what people notice [2]. Look again at about two million chunks.
"""
SOURCES = (
    e.Source(
        type="web", source="Approximate search in Postgres", url="https://bench.example/pgvector", excerpt="p95 12 ms"
    ),
    e.Source(type="web", source="Vector databases compared", url="https://news.example/vectors"),
    e.Source(type="document", source="support-search.pdf", page=14, section="Load"),
)
STEPS = (
    e.PlannedStep(
        id="gather",
        agent="research",
        task="Find recent benchmarks and prices of pgvector, Qdrant and Weaviate",
        expected_outcome="A table of latency and monthly cost with a source for each number",
        tools=("web_search", "fetch_url"),
    ),
    e.PlannedStep(
        id="ours",
        agent="rag",
        task="Read our documents on the support search: how many chunks, how many questions a day",
        expected_outcome="Today's load and next year's, with pages",
        depends_on=("gather",),
        stage=2,
    ),
    e.PlannedStep(
        id="compute",
        agent="data",
        task="Compute latency and cost of each at our size",
        expected_outcome="One number for each database, and how sure it is",
        depends_on=("gather",),
        tools=("execute_code",),
        stage=2,
    ),
    e.PlannedStep(
        id="check",
        agent="web",
        task="Check whether any of the three changed its licence or prices this quarter",
        depends_on=("gather",),
        stage=2,
    ),
    e.PlannedStep(
        id="write",
        agent="writing",
        task="Write the recommendation for the team in half a page",
        expected_outcome="A clear choice, its reason, and when to look again",
        depends_on=("ours", "compute", "check"),
        stage=3,
    ),
)


def planned(run: Recorded) -> None:
    run.tell(
        ROOT,
        e.Config(values={"model": "gpt-5.2", "provider": "openai"}),
        e.Routing(
            agent="planner",
            reason="several steps that depend on each other",
            confidence=0.92,
            method="heuristic",
        ),
    )
    run.agent("planner", "planner", "running", task="Make a plan")
    run.wait(2.1)
    run.tell("planner", _used(1_210, 310))
    run.agent("planner", "planner", "completed")
    run.tell(ROOT, e.PlanOverview(steps=STEPS, intent="Choose a vector database", asks_about=("send_email",)))
    for step in STEPS:
        after = tuple(agent_id(other) for other in step.depends_on)
        run.agent(step.id, step.agent, "pending", task=step.task, step_id=step.id, depends_on=after)


def begin(run: Recorded, step: e.PlannedStep) -> None:
    run.tell(ROOT, e.PlanStep(step=step))
    run.agent(step.id, step.agent, "running", task=step.task, step_id=step.id)


def end(run: Recorded, step: e.PlannedStep, status: str = "completed", error: str | None = None) -> None:
    run.agent(step.id, step.agent, status, task=step.task, step_id=step.id, error=error)
    run.tell(ROOT, e.PlanStepCompleted(step_id=step.id, status=status, error=error and "tool_failed"))


def _used(prompt: int, completion: int) -> e.UsageReported:
    usage = e.Usage(prompt_tokens=prompt, completion_tokens=completion, cost_usd=0.0031)
    return e.UsageReported(model="gpt-5.2", provider="openai", usage=usage)


def gathered(run: Recorded) -> None:
    begin(run, STEPS[0])
    tell = run.tell
    tell("gather", e.Stage(name="search", description="Searching the web", status=e.StageStatus.RUNNING))
    tell(
        "gather",
        e.ToolCall(tool="web_search", args={"query": "pgvector qdrant weaviate benchmark 2026", "top_k": 8}, id="c1"),
    )
    tell("gather", e.ToolCall(tool="web_search", args={"query": "vector database pricing"}, id="c2"))
    run.wait(1.4)
    tell(
        "gather",
        e.ToolResult(tool="web_search", content='[{"title": "Vector databases compared", "score": 0.91}]', id="c2"),
    )
    tell("gather", e.ToolResult(tool="web_search", content="8 results, best: Approximate search in Postgres", id="c1"))
    tell("gather", e.SourceFound(source=SOURCES[0]), e.SourceFound(source=SOURCES[1]), e.SourceFound(source=SOURCES[0]))
    tell("gather", e.ToolCall(tool="fetch_url", args={"url": "https://bench.example/pgvector"}, id="c3"))
    run.wait(3.2)
    tell(
        "gather",
        e.ToolResult(tool="fetch_url", content="Error: the server did not answer within 3 s.", id="c3", is_error=True),
    )
    tell("gather", e.Stage(name="search", description="Searching the web", status=e.StageStatus.COMPLETED))
    tell("gather", _used(3_120, 640))
    run.wait(1.0)
    end(run, STEPS[0])


def diamond_in_the_middle() -> Recorded:
    """One task is done, three run together, one of them with agents of its own; the last waits for them."""
    run = Recorded()
    planned(run)
    gathered(run)
    for step in STEPS[1:4]:
        begin(run, step)
    run.tell("ours", e.ToolCall(tool="search_documents", args={"query": "support search load", "top_k": 8}, id="d1"))
    run.wait(0.7)
    run.tell("ours", e.ToolResult(tool="search_documents", content="support-search.pdf, page 14", id="d1"))
    run.tell("ours", e.SourceFound(source=SOURCES[2]), _used(2_040, 220))
    run.tell("compute", e.Handoff(source_agent="data", target_agent="code", task_description="Fit the latency curve"))
    run.agent("fit", "code", "running", parent="compute", task="Fit the latency curve to the nine measured points")
    run.tell(
        "fit", e.ToolCall(tool="execute_code", args={"code": "import numpy as np\nfit = np.polyfit(x, y, 2)"}, id="f1")
    )
    end(run, STEPS[1])
    return run


def finished() -> Recorded:
    """The same run at its end: one task failed, the plan was amended, the answer stands."""
    run = diamond_in_the_middle()
    run.wait(2.4)
    run.tell("fit", e.ToolResult(tool="execute_code", content="[0.021, 1.9, 8.4]", id="f1"))
    run.tell("fit", e.CodeResult(code="fit = np.polyfit(x, y, 2)", stdout="[0.021 1.9 8.4]", exit_code=0))
    run.agent("fit", "code", "completed")
    end(run, STEPS[2])
    end(run, STEPS[3], "failed", "The search provider is not configured: set TAVILY_API_KEY.")
    run.tell(ROOT, e.PlanOverview(steps=STEPS, revision=1, notice="prices are taken from the documents instead"))
    run.tell(ROOT, e.PlanStepCompleted(step_id="check", status="failed", error="not_configured"))
    begin(run, STEPS[4])
    run.wait(4.0)
    end(run, STEPS[4])
    run.agent("composer", "composer", "running", task="Write the answer")
    run.say("composer", ANSWER)
    run.agent("composer", "composer", "completed")
    run.finish(ANSWER, *SOURCES)
    return run


def plain(answer: str = "Because short waves are scattered more.") -> Recorded:
    """One agent answers; the router was not sure that it is the right one."""
    run = Recorded()
    run.tell(
        ROOT,
        e.Routing(
            agent="chat",
            reason="no clear sign",
            confidence=0.41,
            is_low_confidence=True,
            method="model",
            alternatives=("research", "web"),
        ),
    )
    run.agent("chat", "chat", "running", task="Why is the sky blue?")
    run.say("chat", answer)
    run.agent("chat", "chat", "completed")
    run.finish(answer)
    return run


def asking(kind: str, question: str, *, options: tuple[str, ...] = (), details: Json | None = None) -> Recorded:
    """A run that waits for a person."""
    run = Recorded()
    planned(run)
    gathered(run)
    ask = e.Interrupt(
        request_id=agent_id(question), kind=kind, question=question, options=options, details=details or {}
    )
    run.agent("ours", "rag", "awaiting_user", task=STEPS[1].task, step_id="ours")
    run.tell("ours", ask)
    run.tell(ROOT, e.StatusChanged(status="awaiting_user"))
    return run


def answered(run: Recorded, **said: Any) -> Recorded:
    ask = next(event for event in run.events if event["type"] == "interrupt")
    run.tell("ours", e.InterruptResponse(request_id=ask["request_id"], kind=ask["kind"], **said))
    run.tell(ROOT, e.StatusChanged(status="running"))
    return run
