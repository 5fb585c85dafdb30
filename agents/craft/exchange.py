"""What an agent is handed and what it hands back: plain values that are stored, hashed and sent as JSON.

`AgentInput` and `AgentOutput` are the contract between the pipeline and the agents (S175, S176). An agent's own code
returns `Work`; `agents.pipeline.work` makes the output of it.
"""

import json
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agents.craft.today import dated
from agents.engine.events import Source
from agents.run_budget import RunBudget
from agents.tuning.values import UNTUNED, Tuning
from hitl.kinds import Op
from hyperagent.lib.clipping import one_line
from hyperagent.lib.llm.types import Message, ModelRequest, Tier


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class RetryConfig(Value):
    """`timeout_s` holds for one attempt; waiting for a person does not count."""

    max_retries: int = 2
    timeout_s: float = 600
    backoff_multiplier: float = 2.0


class HandoffInfo(Value):
    """One agent gives its task to another. `artifacts` are files of the workspace that go with it."""

    source_agent: str
    target_agent: str
    task_description: str
    context: str = ""
    artifacts: tuple[str, ...] = ()


class Metadata(Value):
    """Whose run it is; handed on unchanged to every agent below and every tool (S69). An installation is one tenant:
    there is none to name. `trace_id`: like `query_id` of the first try, whatever is tried again."""

    user_id: str | None = None
    query_id: str = ""
    session_id: str | None = None
    trace_id: str = ""


class OnApproval(StrEnum):
    """What a run does where a person would have to be asked for a yes.

    `ask`: it asks, and whoever watches answers. `wait`: nobody watches; it asks, and waits in the inbox. `skip`: what
    needs a yes is left out, and the answer says so. `deny`: the same as if everybody had said no.
    """

    ASK = "ask"
    WAIT = "wait"
    SKIP = "skip"
    DENY = "deny"


class ArgumentCondition(Value):
    """What an argument has to be like; `path`: its name, dotted for what is within one."""

    path: str
    op: Op
    value: Any


class Preapproval(Value):
    """Calls of this tool to which all conditions fit are approved beforehand; without conditions, all of its calls."""

    tool: str
    conditions: tuple[ArgumentCondition, ...] = ()


class ProjectInstructions(Value):
    """What the owner of a project wrote for everybody who works in it. `written_by`: the owner's name."""

    project: str
    written_by: str
    text: str


class AttachmentKind(StrEnum):
    """What can be done with it. `picture`: looked at. `document`: searched and read. `file`: given to a program."""

    PICTURE = "picture"
    DOCUMENT = "document"
    FILE = "file"


class Attachment(Value):
    """A file that belongs to the question, as far as its person may see it. `doc_type`: by its content, such as png.
    `is_of_others`: whether another person gave it, or a connector brought it, so that others have named it."""

    id: str
    name: str
    kind: AttachmentKind
    doc_type: str = ""
    is_of_others: bool = False

    @property
    def told(self) -> str:
        """For a prompt, on one line. A name is somebody's words: it is quoted, and cut."""
        name = json.dumps(one_line(self.name)[:120], ensure_ascii=False)
        return f"{self.kind} {name}{f' ({self.doc_type})' if self.doc_type else ''}, id {self.id}"


class Options(Value):
    """What whoever asked chose for the run."""

    provider: str | None = None
    model: str | None = None
    tier: str | None = None
    task_id: str | None = None
    """What the asking program calls the task that the question belongs to; nothing is decided by it."""
    depth: str | None = None
    scenario: str | None = None
    execution_mode: str = "standard"
    show_plan: bool = False
    interactive: bool = True
    """Whether a person may be asked while the run goes on."""
    on_approval: OnApproval = OnApproval.ASK
    preapproved: tuple[Preapproval, ...] = ()
    budget: RunBudget | None = None
    """What the run may use, over all of its agents."""
    attachment_ids: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    attached: tuple[Attachment, ...] | None = None
    """What those are; None where nobody has looked (`agents.pipeline.attachments`)."""
    image_attachments: tuple[str, ...] = ()
    """The ids of the pictures among them."""
    attached_before: tuple[Attachment, ...] = Field(default=(), exclude_if=lambda some: not some)
    """What was attached to earlier questions of the conversation."""
    today: str = Field(default="", exclude_if=lambda day: not day)
    """The person's day, for models that can make something of it; empty for others."""
    project_id: str | None = None
    """The project of the conversation: its documents are searched first."""
    project_instructions: ProjectInstructions | None = None
    instructed_by_another: bool = False
    """Whether they are another person's words than those of the person whose run it is."""

    @property
    def of_the_person(self) -> "Options":
        """What of them a small call beside the work goes by: to whom the person shows what they ask, and their day."""
        return Options(provider=self.provider, today=self.today)


def meant(options: Options, tuning: Tuning, tier: Tier) -> dict[str, Any]:
    """Which model a request of an agent is for, as fields of the request. `tier`: what its code asks for.

    Whoever asked the question is heard before the administrators, and they before the environment: where they chose a
    tier for the agent, the model that the environment names for it is not asked.
    """
    names_one = options.provider or options.model
    is_tuned = not names_one and (tuning.model is not None or tuning.tier is not None)
    return {
        "tier": Tier(options.tier) if options.tier else tuning.tier or tier,
        "provider": options.provider,
        "model": options.model,
        "agent_model": ("" if options.tier else tuning.model or "") if is_tuned else None,
    }


class DependencyOutput(Value):
    """What an agent learns of one that it depends on: `result` in words, `data` as that agent's contract says."""

    agent_name: str
    task_description: str
    task_done: bool
    result: str = ""
    data: dict[str, Any] = {}
    error: str | None = None


class Known(Value):
    """What is known of a run besides its agents' results; it goes from agent to agent.

    `states`: what became of tasks of its plans, by their ids, in the words of `agents.pipeline.todo`. `writes`: how
    often, one agent after the other, a field of the shared memory was written that does not grow. `results`: of agents
    whose words stand in no such field, by who they are, the newest first. `sources`: those that numbers in the shared
    memory and in results name.
    """

    states: dict[str, str] = {}
    writes: dict[str, int] = {}
    results: tuple[tuple[str, str], ...] = Field(default=(), exclude_if=lambda some: not some)
    sources: tuple[Source, ...] = Field(default=(), exclude_if=lambda some: not some)


class AgentInput(Value):
    agent_id: str
    """The plan's name for this piece of work, such as `rag_agent-a1b2c3`; not the id of the agent's row."""
    agent_name: str
    task: str
    entities: dict[str, Any] = {}
    tools: tuple[str, ...] = ()
    conversation_history: tuple[dict[str, str], ...] = ()
    long_term_memory: dict[str, Any] = {"critical": {}, "preferences": {}}
    dependency_outputs: dict[str, DependencyOutput] = {}
    retry_config: RetryConfig = RetryConfig()
    metadata: Metadata = Metadata()
    hitl_context: dict[str, Any] | None = None
    expected_outcome: str = ""
    original_question: str = ""
    """What the person asked; the task is this agent's part of it."""
    speaks: bool = False
    """Whether its text is the answer that people watch being written."""
    capable: bool = True
    """False where only the small bundled model serves: short prompts, no tools."""
    options: Options = Options()
    shared_memory: dict[str, Any] = {}
    """The blackboard (S56), already cut to its budget."""
    active_context: str = ""
    """[Active Task Context]: the plan as a checklist, at most 2,000 characters."""
    handoffs: tuple[HandoffInfo, ...] = ()
    """The chain of handoffs that led here, oldest first."""
    skill: str | None = None
    """A dedicated mode begins with this skill instead of with a model."""
    tuning: Tuning = Field(default=UNTUNED, exclude=True)
    """What administrators chose for this agent. The run has it, and whoever begins the agent puts it here: it is no
    part of what an agent is forked with."""

    def tuned_by(self, tuning: Tuning) -> "AgentInput":
        """As the agent is to go by it, whatever limits it was handed."""
        limits = {name: value for name, value in tuning if value is not None and name in RetryConfig.model_fields}
        retry_config = self.retry_config.model_copy(update=limits)
        return self.model_copy(update={"tuning": tuning, "retry_config": retry_config})

    def request(self, *, agent: str, tier: Tier, messages: tuple[Message, ...], **more: Any) -> ModelRequest:
        """A request to the model that whoever asked chose, else to the one that administrators chose for this agent,
        else to the one that the settings give it. What asks in another name, as a skill does, is not this agent."""
        tuning = self.tuning if agent == self.agent_name else UNTUNED
        if tuning.temperature is not None and not more.get("keeps_temperature"):
            more |= {"temperature": tuning.temperature, "keeps_temperature": True}
        told = dated(messages, self.options.today)
        return ModelRequest(messages=told, agent=agent, **meant(self.options, tuning, tier), **more)


class ResourceUsage(Value):
    time_taken_ms: int = 0
    tokens_used: int = 0
    api_calls_made: int = 0


class OutputMetadata(Value):
    """`citations`: the numbers of `sources`, counted from 1, that the result names."""

    sources: tuple[Source, ...] = ()
    citations: tuple[int, ...] = ()
    model_used: str | None = None


class Work(Value):
    """What an agent's own code brings back. Raise StepFailed, or ToolError, for what could not be done at all.

    `result`: for people and for the agents after it. `data`: what the agent's contract says (S174, S177, S179, S181).
    `shared`: fields for the blackboard. `handoff`: another agent shall go on.
    """

    result: str
    data: dict[str, Any] = {}
    done: bool = True
    error: str | None = None
    partial_data: dict[str, Any] = {}
    confidence: float = Field(default=1.0, ge=0, le=1)
    sources: tuple[Source, ...] = ()
    shared: dict[str, Any] = {}
    handoff: HandoffInfo | None = None
    model_used: str | None = None


class AgentOutput(Value):
    agent_id: str
    agent_name: str
    task_description: str
    """The task as it was worked on: with a person's changes, if there were any (S129)."""
    task_done: bool
    result: str = ""
    data: dict[str, Any] = {}
    partial_data: dict[str, Any] = {}
    error: str | None = None
    confidence_score: float = Field(default=1.0, ge=0, le=1)
    depends_on: tuple[str, ...] = ()
    resource_usage: ResourceUsage = ResourceUsage()
    metadata: OutputMetadata = OutputMetadata()
    shared: dict[str, Any] = {}
    """The blackboard as it goes on from here: what the agent was handed, and what it added."""
    known: Known = Known()
    handoff: HandoffInfo | None = None

    def as_dependency(self) -> DependencyOutput:
        return DependencyOutput(
            agent_name=self.agent_name,
            task_description=self.task_description,
            task_done=self.task_done,
            result=self.result,
            data=self.data if self.task_done else self.partial_data,
            error=self.error,
        )
