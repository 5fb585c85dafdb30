"""What a run has read that others wrote, by what is recorded of it, and which addresses it knows from elsewhere.

Text of others may say anything to a model. So from then on a person decides about each call that changes something or
sends data out (`hitl.policy`). Everything here follows from recorded steps and from what the run was begun with, so
whoever takes the run over finds the same; what was decided by it is recorded besides (`agents.tools.verdicts`).
Decides nothing, and asks nobody.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Final

from agents.engine.records import Intervention, StepRecord
from agents.engine.scripts import OPENED
from agents.engine.states import InterventionKind, StepKind, StepStatus
from agents.guardrails.questions import NOTE
from agents.guardrails.reporting import LATE
from agents.guardrails.wording.unbinding import ROLE
from agents.mcp.definitions import CONNECTED, visible
from agents.runtime.driven import DrivenRun
from agents.tools.untrusted import MARK_BEGINS
from hitl.policy import Read
from hyperagent.lib.clipping import one_line
from hyperagent.lib.outside.addresses import BadAddress, canonical

AGENT: Final = "agent"
"""The kind of a question, or an answer to one, that another program's agent wrote."""
ATTACHED: Final = "attachments"
"""The note of what is attached to the question, and was to those before it (`agents.pipeline.attachments`)."""
PROJECT: Final = "project"
"""The kind of a project's instructions, by whoever owns it."""
MOST_KEPT: Final = 200
MOST_TOLD: Final = 5
TITLE_CHARS: Final = 200
TEXTS_CHARS: Final = 400_000
"""Of what was read, so much is kept in mind to mark it in an address that would carry it out."""
_PROGRAMS: Final = ("execute_code", "execute_script", "app_start_server", "app_install_packages")
_URL: Final = re.compile(r"https?://[^\s<>\"'`\\^{}|]+", re.IGNORECASE)
_BARE: Final = re.compile(r"(?<![\w@/.:-])(?:[\w-]{1,63}\.){1,8}[^\W\d_][\w-]{1,62}(?::\d{1,5})?(?:/[^\s<>\"'`]*)?")
_AFTER: Final = ".,;:!?)]}'\"»“”’*_"


@dataclass(slots=True)
class Reading:
    """What one run has read until now. `seen`: how many of its recorded steps are in here already."""

    sources: dict[Read, None] = field(default_factory=dict)
    beyond: int = 0
    addresses: set[str] = field(default_factory=set)
    words: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    chars: int = 0

    def add(self, read: Read) -> None:
        if read in self.sources:
            return
        if len(self.sources) >= MOST_KEPT:
            self.beyond += 1
        else:
            self.sources[read] = None

    def keep(self, text: str) -> None:
        room = TEXTS_CHARS - self.chars
        if room > 0 and text:
            self.texts.append(text[:room])
            self.chars += min(room, len(text))


@dataclass(frozen=True, slots=True)
class Taint:
    """`sources`: the first few of them; `more`: how many others there are. Empty: nothing of others was read."""

    sources: tuple[Read, ...] = ()
    more: int = 0

    def __bool__(self) -> bool:
        return bool(self.sources)

    def as_json(self) -> dict[str, Any]:
        return {"sources": [one.as_json() for one in self.sources], "more": self.more}


CLEAN: Final = Taint()
ASKED_BY_AN_AGENT: Final = Taint((Read(AGENT, "The question itself: another program's agent wrote it"),))


def reading_of(run: DrivenRun) -> Reading:
    """Each recorded step is looked at once in a process, whoever asks how often."""
    reading = run.reading
    if not isinstance(reading, Reading):
        reading = run.reading = _begun_with(run)
    unread, run.unread = run.unread, []
    for step in unread:
        _take(reading, run, step)
    return reading


def taint_of(run: DrivenRun) -> Taint:
    reading = reading_of(run)
    told = tuple(reading.sources)[:MOST_TOLD]
    return Taint(told, len(reading.sources) + reading.beyond - len(told))


def is_known(run: DrivenRun, url: str) -> bool:
    """Whether this very address, but for its fragment, stands in the person's own words, or among the sources that
    searches and pages of this run gave. It then carries nothing out that its author did not have before."""
    found = same_address(url)
    if not found:
        return False
    reading = reading_of(run)
    if found in reading.addresses:
        return True
    said = (addresses_in(text) for text in reading.words)
    return any(found in some for some in chain(said, map(partial(_said_to, run), run.loaded.interventions.values())))


def _said_to(run: DrivenRun, intervention: Intervention) -> set[str]:
    """The addresses that a person names to an agent. Other instructions are written over those that it had: what stands
    in those, a model wrote."""
    said = addresses_in(intervention.text)
    if intervention.kind is not InterventionKind.MODIFY or (agent := run.find(intervention.agent_id)) is None:
        return said
    return said - addresses_in(agent.task)


def same_address(url: str) -> str:
    """The one spelling of an address, by which two are compared: a fragment is never sent. Empty for what is none."""
    try:
        return canonical(url.strip(), allow_private=True, any_port=True).url
    except BadAddress:
        return ""


def addresses_in(text: str) -> set[str]:
    """Those that a person wrote, in their one spelling; `example.org/page` stands for both schemes."""
    written = [one for found in _URL.findall(text) for one in (found, found.rstrip(_AFTER))]
    for match in _BARE.finditer(_URL.sub(" ", text)):
        bare = match[0].rstrip(_AFTER)
        written += [f"https://{bare}", f"http://{bare}"]
    return set(filter(None, map(same_address, written)))


def taint_from(stored: Any) -> Taint:
    """As an earlier run, or whoever began this one, wrote it down. What is none is none."""
    sources = stored.get("sources") if isinstance(stored, Mapping) else None
    if not isinstance(sources, list):
        return Taint()
    more = stored.get("more")
    read = [Read.from_json(one) for one in sources if isinstance(one, Mapping)]
    return Taint(tuple(read[:MOST_TOLD]), more if isinstance(more, int) else 0)


def joined(parts: Sequence[Taint]) -> Taint:
    """What several runs have read, the latest last: the newest are told."""
    known = dict.fromkeys(read for part in reversed(parts) for read in part.sources)
    told = tuple(known)[:MOST_TOLD]
    return Taint(told, len(known) - len(told) + max((part.more for part in parts), default=0))


# --- what is recorded


def _begun_with(run: DrivenRun) -> Reading:
    """What stands in the history of the conversation, and the person's own words in it."""
    reading = Reading()
    turn = run.turn
    inherited = taint_from(turn.get("tainted_by"))
    for read in inherited.sources:
        reading.add(read)
    reading.beyond += inherited.more
    if (project := _instructed_by(turn.get("options") or {})) is not None:
        reading.add(project)
    history = [one for one in turn.get("history") or () if isinstance(one, Mapping)]
    question = str(turn.get("question") or "")
    reading.words += own_words(turn)
    # What an agent names carries nothing out that it did not have. What others shared is in nobody's name.
    if all(read.kind == AGENT for read in taint_from(turn.get("brought")).sources):
        reading.words.append(question)
    for text in (*own_words(turn), question, *(str(one.get("content") or "") for one in history)):
        reading.keep(text)
    return reading


def _instructed_by(options: Mapping[str, Any]) -> Read | None:
    """The project whose instructions another person wrote than whose run it is. Where that was not written down, as of
    runs that began before it was, nobody knows whose they are."""
    told = options.get("project_instructions")
    if not isinstance(told, Mapping) or not options.get("instructed_by_another", True):
        return None
    return Read(PROJECT, _line(str(told.get("project") or "")))


def is_of_others(turn: Mapping[str, Any]) -> bool:
    """Whether the question itself is not the person's own: another program's agent asks in their name, here or before
    in the conversation, or it stood in a conversation that somebody shared."""
    asks = any(read.kind == AGENT for read in taint_from(turn.get("tainted_by")).sources)
    return asks or bool(taint_from(turn.get("brought")))


def own_words(turn: Mapping[str, Any]) -> list[str]:
    """What the person said before: neither a summary, nor what came from others, nor what a program quoted."""
    first, quoted = int(turn.get("others_said") or 0), set(turn.get("quoted") or ())
    said = enumerate(one for one in turn.get("history") or () if isinstance(one, Mapping))
    own = [one for place, one in said if place >= first and place not in quoted]
    return [str(one.get("content") or "") for one in own if one.get("role") == "user"]


def _take(reading: Reading, run: DrivenRun, step: StepRecord) -> None:
    match step.kind:
        case StepKind.TOOL:
            _take_call(reading, run, step)
        case StepKind.ASK if step.status is StepStatus.FINISHED and isinstance(step.response, Mapping):
            # Not what was chosen: a model wrote that.
            said = [str(step.response[name]) for name in ("text", "instructions") if step.response.get(name)]
            reading.words += said
            if said and step.response.get("by_agent"):
                reading.add(Read(AGENT, "An answer to a question: another program's agent wrote it"))
        case StepKind.NOTE if step.name == OPENED:
            # It may read the files that lie in its box without a call that anybody sees.
            reading.add(Read("program", "What a script found among its files"))
        case StepKind.NOTE if step.name == ATTACHED and isinstance(step.response, list):
            # Their names are told to whoever works on the question.
            for one in step.response:
                if isinstance(one, Mapping) and one.get("is_of_others"):
                    name, id_ = str(one.get("name") or ""), str(one.get("id") or "")
                    reading.add(Read("document", _line(name), document_id=id_))
        case StepKind.NOTE if step.name == NOTE and _was_flagged(step.response):
            reading.add(Read("question", "The question itself looks as if somebody else had written a part of it"))


def _take_call(reading: Reading, run: DrivenRun, step: StepRecord) -> None:
    if step.status is StepStatus.STARTED or run.tools is None or not isinstance(step.response, Mapping):
        return
    if step.status is StepStatus.FAILED:
        # Connected servers say in words of their own why they failed.
        if MARK_BEGINS in str(step.response.get("message") or ""):
            reading.add(_of_call(step))
        return
    sources = [one for one in step.response.get("sources") or () if isinstance(one, Mapping)]
    reading.addresses |= set(filter(None, (same_address(str(one.get("url") or "")) for one in sources)))
    if not run.tools.is_of_others(step.name) or step.response.get("data") == []:
        return
    reading.keep(str(step.response.get("content") or ""))
    for read in (_of_source(one, step.name) for one in sources):
        reading.add(read)
    if not sources:
        reading.add(_of_call(step))


def _of_source(source: Mapping[str, Any], tool: str) -> Read:
    url = str(source.get("url") or "")
    return Read(
        kind=str(source.get("type") or "tool")[:20],
        title=_line(str(source.get("source") or url)),
        url=url if url.startswith(("https://", "http://")) else "",
        tool=tool,
        document_id=str(source.get("document_id") or ""),
    )


def _of_call(step: StepRecord) -> Read:
    """Where a result names no source: the call, by the first text that it was made with."""
    asked = step.request if isinstance(step.request, Mapping) else {}
    names = ("path", "url", "image", "document_id", "message_id", "query", "prefix")
    said = next((str(asked[name]) for name in names if asked.get(name)), "")
    if step.name.startswith(CONNECTED):
        return Read("server", step.name, tool=step.name)
    if step.name in _PROGRAMS:
        return Read("program", "What a program printed", tool=step.name)
    return Read("file" if "path" in asked else "tool", _line(said or step.name), tool=step.name)


def _was_flagged(noted: Any) -> bool:
    """Whether something was found in the question: not only no time to look, and not only that it gives the assistant
    a role, which ordinary people do."""
    lines = noted if isinstance(noted, list) else []
    return any(isinstance(line, Mapping) and line.get("kind") not in (LATE, ROLE) for line in lines)


def _line(text: str) -> str:
    line = one_line(visible(text[: 4 * TITLE_CHARS]))
    return line if len(line) <= TITLE_CHARS else f"{line[:TITLE_CHARS]}…"


def texts_of(run: DrivenRun) -> Sequence[str]:
    """What the run may know that its person has not made public: for marking it in what would be sent out."""
    return tuple(reading_of(run).texts)
