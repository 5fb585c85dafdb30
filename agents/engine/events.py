"""What people see of a run: a closed union of event types, numbered in their execution. Names and fields stay.

Every event is stored and sent as the same JSON text. Token frames are the hot ones.
"""

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, model_serializer, model_validator

RESULT_CHARS: Final = 500


class StageStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class Whole(BaseModel):
    """Told with all of its fields. What is None says something here; of all else an event leaves it out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_serializer
    def _all_of_it(self) -> dict[str, Any]:
        return dict(self)


class Usage(Whole):
    """Tokens and money. `cost_usd` is None where a model without a known price took part: unknown, not free."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0


class Source(BaseModel):
    """Where a statement comes from: a document's page, a web page, a mail."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str
    source: str
    url: str | None = None
    page: int | None = None
    section: str | None = None
    excerpt: str | None = None
    relevance_score: float | None = None
    document_id: str | None = None
    chunk_id: str | None = None
    """Of a document of this installation, and the passage in it that the excerpt is from."""


class Check(Whole):
    """What a sentence of an answer says against the sources that it names (B19).

    `start` and `end` count characters of the answer. `supported` is None where nobody could tell. `by`: whether its
    words were compared (`words`), or a model read both (`model`).
    """

    start: int
    end: int
    sentence: str
    citations: tuple[int, ...] = ()
    supported: bool | None = None
    by: Literal["words", "model"] = "words"
    why: str = ""


class Body(BaseModel):
    """What an event says, before it has a number. `stage` names the stage of the run that it belongs to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str | None = None


class Heard(Whole):
    """What a person added to a run while it went on. It was heard when `at` characters of the answer of the agent that
    the event names had been said: there it belongs, and before all of them if those are taken back."""

    text: str
    at: int


class Stage(Body):
    """`heard`: of the stage that tells what a person added, in full."""

    type: Literal["stage"] = "stage"
    name: str
    description: str
    status: StageStatus
    heard: Heard | None = None


class StatusChanged(Body):
    """The execution moved to another status."""

    type: Literal["status_changed"] = "status_changed"
    status: str
    reason: str | None = None


class AgentState(Body):
    """A node of the agent tree appeared or changed. `step_id` is the step of the plan that it works on."""

    type: Literal["agent_state"] = "agent_state"
    agent_name: str
    parent_id: str | None = None
    status: str
    task: str | None = None
    error: str | None = None
    modified: bool = False
    user_comment: str | None = None
    depends_on: tuple[str, ...] = ()
    step_id: str | None = None


class AgentShutdown(Body):
    """A worker lost the run (it crashed, or gave it back); another goes on from the last recorded step."""

    type: Literal["agent_shutdown"] = "agent_shutdown"
    reason: str


class JournalCut(Body):
    """The code or its prompts changed since the steps were recorded: what follows `path` is executed anew."""

    type: Literal["journal_cut"] = "journal_cut"
    path: str
    reason: str


class Token(Body):
    """A frame of the answer's text. `channel` is "thinking" for the model's thoughts."""

    type: Literal["token"] = "token"
    content: str
    channel: Literal["answer", "thinking"] = "answer"


class TokenReset(Body):
    """The stream had to start again: keep so many characters of what this agent's frames gave so far."""

    type: Literal["token_reset"] = "token_reset"
    keep: int
    reason: str | None = None
    channel: Literal["answer", "thinking"] = "answer"


class ToolCall(Body):
    """`called_by`: the id of the call of a script, where it was a script that made this one. `label`: what people call
    the tool, if it is one of a connected server; the product's own are called by their names in each language."""

    type: Literal["tool_call"] = "tool_call"
    tool: str
    args: dict[str, Any]
    id: str | None = None
    called_by: str | None = None
    label: str | None = None


class ToolResult(Body):
    """`content` is clipped to 500 characters, whoever makes the event; the step has the whole.

    `already_done`: what the call would have changed had happened before (another try, or before the code changed),
    was found, and was not repeated.
    """

    type: Literal["tool_result"] = "tool_result"
    tool: str
    content: str = Field(max_length=RESULT_CHARS)
    id: str | None = None
    is_error: bool = False
    clipped: bool = False
    already_done: bool = False
    called_by: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _clip(cls, fields: Any) -> Any:
        content = fields.get("content") if isinstance(fields, dict) else None
        if isinstance(content, str) and len(content) > RESULT_CHARS:
            return {**fields, "content": content[:RESULT_CHARS], "clipped": True}
        return fields


class Routing(Body):
    """Who works on the question, or `planner` if several shall. `method`: explicit, heuristic, model or fallback.

    With low confidence `alternatives` are the modes that a person may rather want.
    """

    type: Literal["routing"] = "routing"
    agent: str
    reason: str
    confidence: float = 1.0
    is_low_confidence: bool = False
    method: str = "explicit"
    alternatives: tuple[str, ...] = ()


class Handoff(Body):
    """`artifacts`: paths of the files that go along."""

    type: Literal["handoff"] = "handoff"
    source_agent: str
    target_agent: str
    task_description: str
    context: str = ""
    artifacts: tuple[str, ...] = ()


class Config(Body):
    """What serves the run: its provider and model, what they are good for, and what people are told of that."""

    type: Literal["config"] = "config"
    values: dict[str, Any]


class SourceFound(Body):
    type: Literal["source"] = "source"
    source: Source


class CodeResult(Body):
    """A program and what running it gave. `exit_code` is None where it was not run, or was stopped before it ended;
    `note` then says why, for people. `id`: of the `terminal_command` that was told of it while it ran."""

    type: Literal["code_result"] = "code_result"
    code: str
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    language: str = ""
    note: str = ""
    id: str | None = None


class Visualization(Body):
    """A chart as data: `spec` is what the page draws it from (Chart.js). `path`: of a picture of the same chart in the
    conversation's workspace, which then need not be shown beside it."""

    type: Literal["visualization"] = "visualization"
    title: str = ""
    spec: dict[str, Any]
    path: str = ""


class Image(Body):
    """A picture for people, by its path in the conversation's workspace. `version`: of the file there."""

    type: Literal["image"] = "image"
    path: str
    alt: str = ""
    version: int | None = None


class BrowserStream(Body):
    type: Literal["browser_stream"] = "browser_stream"
    url: str


class BrowserAction(Body):
    """What was done in the browser. `url`, `title`: the page that it led to. `screenshot`: a picture of that page, by
    its path in the conversation's workspace."""

    type: Literal["browser_action"] = "browser_action"
    action: str
    target: str = ""
    url: str = ""
    title: str = ""
    screenshot: str = ""


class AppPreview(Body):
    """An app that was built can be looked at. `url`: of the proxy of this installation; `port`: where it listens in
    its box."""

    type: Literal["app_preview"] = "app_preview"
    url: str
    title: str = ""
    port: int | None = None


FileOperation = Literal["written", "deleted"]


def _written_once_called_write(operation: Any) -> Any:
    """Of saved attachments older runs tell so."""
    return "written" if operation == "write" else operation


class WorkspaceUpdate(Body):
    """A file of a workspace was `written` or `deleted`. Without a `scope` it is the conversation's."""

    type: Literal["workspace_update"] = "workspace_update"
    path: str
    operation: Annotated[FileOperation, BeforeValidator(_written_once_called_write)]
    scope: str = "conversation"
    scope_id: str | None = None
    size_bytes: int | None = None
    media_type: str = ""
    version: int | None = None


class TerminalCommand(Body):
    """A program begins. `id` names this run of it in the events that follow; with the same `id` again it begins anew.
    `language`: of `command`, where that is a program's text and no line of a shell."""

    type: Literal["terminal_command"] = "terminal_command"
    command: str
    id: str | None = None
    language: str = ""


class TerminalOutput(Body):
    type: Literal["terminal_output"] = "terminal_output"
    content: str
    id: str | None = None


class TerminalError(Body):
    type: Literal["terminal_error"] = "terminal_error"
    content: str
    id: str | None = None


class TerminalComplete(Body):
    """`exit_code` is None where it was stopped before it ended; `note` then says why, for people."""

    type: Literal["terminal_complete"] = "terminal_complete"
    exit_code: int | None = None
    id: str | None = None
    note: str = ""
    seconds: float | None = None


class SkillOutput(Body):
    type: Literal["skill_output"] = "skill_output"
    skill_id: str
    output: dict[str, Any]


class PlannedStep(BaseModel):
    """A task of the plan as people see it. `stage` counts from 1: what could run together, by Kahn's algorithm."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    agent: str
    task: str
    expected_outcome: str = ""
    depends_on: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    stage: int = 1


class TodoItem(BaseModel):
    """`status`: pending, running, completed, failed, skipped or deleted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    text: str
    status: str


class PlanStep(Body):
    """One task of the plan begins."""

    type: Literal["plan_step"] = "plan_step"
    step: PlannedStep


class PlanOverview(Body):
    """The whole plan; a later one with a higher `revision` takes its place. `asks_about`: tools that will need a yes.

    `notice` says what became of the planner's own proposal where it could not be taken as it was.
    """

    type: Literal["plan_overview"] = "plan_overview"
    steps: tuple[PlannedStep, ...]
    intent: str = ""
    entities: dict[str, Any] = {}
    revision: int = 0
    asks_about: tuple[str, ...] = ()
    notice: str = ""


class PlanStepCompleted(Body):
    type: Literal["plan_step_completed"] = "plan_step_completed"
    step_id: str
    status: str
    error: str | None = None


class TodoUpdate(Body):
    type: Literal["todo_update"] = "todo_update"
    items: tuple[TodoItem, ...]


class ParallelStart(Body):
    type: Literal["parallel_start"] = "parallel_start"
    agents: tuple[str, ...]


class ParallelTask(Body):
    type: Literal["parallel_task"] = "parallel_task"
    agent: str
    status: str


class ParallelComplete(Body):
    type: Literal["parallel_complete"] = "parallel_complete"
    agents: tuple[str, ...]


class Interrupt(Body):
    """A person is asked something that is not an approval: kinds decision, input, plan, budget.

    Who asks may stand deep in the tree: `root_agent_id` is the agent of the first level that it works for (itself, if
    it is one), and `agent_path` names all from that one down to the one that asks.
    """

    type: Literal["interrupt"] = "interrupt"
    request_id: str
    kind: str
    question: str
    details: dict[str, Any] = {}
    options: tuple[str, ...] = ()
    timeout_seconds: int | None = None
    root_agent_id: str | None = None
    agent_path: tuple[str, ...] = ()


class InterruptResponse(Body):
    """How a question ended; `choice` and `text` are what the person said, if they said something."""

    type: Literal["interrupt_response"] = "interrupt_response"
    request_id: str
    kind: str
    status: str
    choice: str | None = None
    text: str | None = None


class HitlRequired(Body):
    """A person is asked for a yes. `root_agent_id` and `agent_path`: as of an `Interrupt`."""

    type: Literal["hitl_required"] = "hitl_required"
    request_id: str
    agent_name: str
    tool_names: tuple[str, ...]
    task_description: str
    timeout_seconds: int | None = None
    root_agent_id: str | None = None
    agent_path: tuple[str, ...] = ()


class HitlApproved(Body):
    type: Literal["hitl_approved"] = "hitl_approved"
    request_id: str


class HitlDenied(Body):
    type: Literal["hitl_denied"] = "hitl_denied"
    request_id: str
    reason: str = ""


class HitlTimeout(Body):
    type: Literal["hitl_timeout"] = "hitl_timeout"
    request_id: str


class MemoryUsed(Body):
    type: Literal["memory"] = "memory"
    action: str
    items: tuple[dict[str, Any], ...] = ()


class UsageReported(Body):
    """What one model call took."""

    type: Literal["usage"] = "usage"
    model: str
    provider: str
    usage: Usage


class Guardrail(Body):
    """What a guardrail found. `place`: input, output, tool or content; `call_id`: of the call that it is about."""

    type: Literal["guardrail"] = "guardrail"
    scanner: str
    action: str
    reason: str
    place: str = ""
    kind: str = ""
    tool: str = ""
    call_id: str | None = None
    count: int = 1
    """How many findings of this kind; a long page may have hundreds."""


class Title(Body):
    type: Literal["title"] = "title"
    title: str


class Complete(Body):
    """The last event of a run that ended well, or was cancelled with what there was. `model`: the one that wrote the
    answer, where it was one."""

    type: Literal["complete"] = "complete"
    answer: str
    sources: tuple[Source, ...] = ()
    checks: tuple[Check, ...] = ()
    usage: Usage = Usage()
    status: Literal["completed", "cancelled"] = "completed"
    model: str | None = None


class Error(Body):
    """The last event of a run that failed. `message` is for people: what happened and what to do."""

    type: Literal["error"] = "error"
    code: str
    message: str
    retryable: bool = False


EventBody = Annotated[
    Stage
    | StatusChanged
    | AgentState
    | AgentShutdown
    | JournalCut
    | Token
    | TokenReset
    | ToolCall
    | ToolResult
    | Routing
    | Handoff
    | Config
    | SourceFound
    | CodeResult
    | Visualization
    | Image
    | BrowserStream
    | BrowserAction
    | AppPreview
    | WorkspaceUpdate
    | TerminalCommand
    | TerminalOutput
    | TerminalError
    | TerminalComplete
    | SkillOutput
    | PlanStep
    | PlanOverview
    | PlanStepCompleted
    | TodoUpdate
    | ParallelStart
    | ParallelTask
    | ParallelComplete
    | Interrupt
    | InterruptResponse
    | HitlRequired
    | HitlApproved
    | HitlDenied
    | HitlTimeout
    | MemoryUsed
    | UsageReported
    | Guardrail
    | Title
    | Complete
    | Error,
    Field(discriminator="type"),
]

TERMINAL_TYPES = frozenset({"complete", "error"})
body_adapter: TypeAdapter[EventBody] = TypeAdapter(EventBody)
