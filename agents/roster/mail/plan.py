"""What is to be done in the mailbox: how a model says it, and how patterns say it where no model can. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, Field

from agents.craft.exchange import AgentInput
from hyperagent.lib.clipping import one_line
from hyperagent.lib.text import title_from

Action = Literal[
    "search_inbox", "search_sent", "search_drafts", "read", "send", "draft", "reply", "send_draft", "save_attachments"
]
WRITING: Final = ("send", "draft", "reply", "send_draft")
NAMED: Final = {
    "send": "sent",
    "send_draft": "sent",
    "draft": "draft",
    "reply": "reply",
    "read": "message",
    "search_drafts": "drafts",
    "save_attachments": "files",
}
"""Under which name S179 has what an action gave; `messages` for the other two."""

# From the beginning of a word only, and nothing given back: one long word would take minutes otherwise.
_ADDRESS = re.compile(r"(?<![^\s@<>,;:\"()\[\]])[^\s@<>,;:\"()\[\]]++@[^\s@<>,;:\"()\[\]]+\.[^\s@<>,;:\"()\[\].]+")
_FROM = re.compile(r"\b(?:from|by|von)\s+(?P<who>[^\s,.;:?!]+@[^\s,;:?!]+|[A-ZÄÖÜ][\w-]+)")
_WHOSE = re.compile(
    r"\b(?!(?:What|Where|Who|How|It|That|There|Here|Let)\b)"
    r"(?P<who>[A-ZÄÖÜ][\w-]+)['’]s (?:\w+ ){0,2}(?:e-?mail|mail|message)"
)
# A name beside an address, as one more who is to get the mail.
_BESIDE = (
    re.compile(
        r"@[^\s@]++\s++(?:and|und|&)\s++(?P<who>[A-ZÄÖÜ][\w-]++)(?=[.,;!?]*+(?:$|\s++(?:saying|that|dass|mit|with)\b))"
    ),
    re.compile(r"\b(?:to|an)\s++(?P<who>[A-ZÄÖÜ][\w-]*+)\s++(?:and|und|&)\s++[^\s@]++@"),
)
_ABOUT = re.compile(r"(?i)\b(?:about|regarding|subject|über|wegen|betreff)[:\s]+(?P<what>[^.?!]+)")
_SAYING = re.compile(r"(?is)\b(?:saying|that says|with the text|mit dem text|dass|say)\b[:\s]*(?P<what>.+)")
_FORWARD = re.compile(r"(?i)\b(forward|leite\w*|weiterleit\w*)\b")
_NEWEST = re.compile(r"(?i)\b(last|latest|newest|letzte\w*|neueste\w*)\b")
_UNREAD = re.compile(r"(?i)\b(unread|ungelesen\w*)\b")
_TODAY = re.compile(r"(?i)\b(today|heute)\b")


def _in_turn(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


_SENDING: Final = r"\b(send|e-?mail|mail|write|forward|schick\w*|send\w*|schreib\w*|maile|leite\w*|weiterleit\w*)\b"
# The first that fits counts. Each of its patterns is looked for behind what the one before it found: as one pattern,
# with anything in between, a text of nothing but "send" would take hours.
_ACTIONS: Final[tuple[tuple[Action, tuple[re.Pattern[str], ...]], ...]] = (
    ("send_draft", _in_turn(r"\b(send|schick\w*|sende)\b", r"\b(the|my|den|meinen) (draft|entwurf)\b")),
    ("save_attachments", _in_turn(r"\b(save|speicher\w*|sicher\w*)\b", r"\b(attachments?|anh[aä]ng\w*)\b")),
    ("search_drafts", _in_turn(r"\b(find|show|list|search|which|zeig\w*|such\w*)\b", r"\b(drafts|entwürfe)\b")),
    ("search_sent", _in_turn(r"\b(i|ich)\b", r"\b(sent|wrote|gesendet|geschickt|geschrieben)\b")),
    ("search_sent", _in_turn(r"\bsent mail")),
    ("reply", _in_turn(r"\b(reply|respond|answer|antworte\w*|beantworte\w*)\b")),
    ("draft", _in_turn(r"\b(draft|entwurf|entwirf)\b")),
    ("send", _in_turn(_SENDING, r"@")),
    ("read", _in_turn(r"\b(read|open|lies|öffne)\b")),
)


class MailPlan(BaseModel):
    """One action in the mailbox."""

    action: Action = "search_inbox"
    query: str = Field(default="", max_length=500, description="Gmail search syntax")
    message_id: str = Field(default="", description="the id of a mail that is already known")
    to: list[str] = Field(default=[], description="mail addresses that the task or its material names")
    cc: list[str] = []
    bcc: list[str] = Field(default=[], description="who gets it without the others seeing that")
    subject: str = Field(default="", max_length=300)
    unknown: list[str] = Field(default=[], description="by name, whoever else is to get it and has no known address")
    say: str = Field(default="", description="what the mail has to say, in your words")
    about: str = Field(default="", max_length=500, description="for reply: finds another mail that it needs")
    forward: bool = Field(default=False, description="whether the mail that is read first goes along word for word")
    reply_all: bool = False
    read_attachments: bool = Field(default=False, description="for read: whether what is attached is read as well")
    attachments: list[str] = Field(default=[], description="paths of files of the workspace that go along")
    account: str = Field(default="", description="the person's mailbox that it is about, if they named one")

    @property
    def where(self) -> dict[str, Any]:
        """For each tool: in which mailbox."""
        return {"account": self.account} if self.account else {}

    @property
    def addresses(self) -> list[str]:
        return [*self.to, *self.cc, *self.bcc]

    @property
    def nameless(self) -> list[str]:
        """Who is to get it and cannot, for nobody said an address."""
        names = [one_line(name) for name in self.unknown]
        return [name for name in dict.fromkeys(names) if name and name not in self.addresses]

    @property
    def is_about_a_mail(self) -> bool:
        """Whether one has to be read before this is written."""
        return self.forward or bool(self.query or self.message_id)

    @property
    def writes(self) -> bool:
        return self.action in WRITING


def plan_by_patterns(task: str) -> MailPlan:
    """For when no model can be asked: one action by its words, and what it needs by its form."""
    action: Action = next((name for name, patterns in _ACTIONS if _says(task, name, patterns)), "search_inbox")
    addresses = list(dict.fromkeys(_ADDRESS.findall(task)))
    about = _ABOUT.search(task)
    saying = _SAYING.search(task)
    say = (saying["what"] if saying else task).strip()
    query = _query(task, about)
    beside = [found["who"] for pattern in _BESIDE for found in pattern.finditer(task)]
    if action in ("send", "draft") and _FORWARD.search(task):
        if not query and not _NEWEST.search(task):
            # Nobody knows which one is meant: those that there are are shown, and none goes to anybody.
            return MailPlan()
        others = [address for address in addresses if f"from:{address}" not in query.split()]
        return MailPlan(action=action, query=query, to=others, unknown=beside, say=say, forward=True)
    if action in ("send", "draft"):
        subject = title_from(about["what"] if about else say, limit=60)
        return MailPlan(action=action, to=addresses, unknown=beside, subject=subject, say=say)
    return MailPlan(action=action, query=query, say=say)


def _says(task: str, action: Action, patterns: Sequence[re.Pattern[str]]) -> bool:
    end = 0
    for place, pattern in enumerate(patterns):
        if action == "send_draft" and place:
            # Behind the last address: where one follows, the draft is yet to be written.
            end = max(end, task.rfind("@") + 1)
        found = pattern.search(task, end)
        if found is None:
            return False
        end = found.end()
    return True


def known_addresses(wanted: list[str], task: AgentInput, *, said: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Those of the addresses that the person, or what belongs to the task, names; and those that somebody made up.
    `said`: what the person added meanwhile."""
    given = _texts_in(
        [
            task.task,
            task.original_question,
            task.entities,
            [output.model_dump(mode="json") for output in task.dependency_outputs.values()],
            task.conversation_history,
            task.long_term_memory,
            task.shared_memory,
            [handoff.context for handoff in task.handoffs],
            said,
        ]
    ).lower()
    known = [address for address in dict.fromkeys(wanted) if _is_in(address, given)]
    return known, [address for address in dict.fromkeys(wanted) if address not in known]


def _texts_in(value: Any) -> str:
    """All the texts in it, however deep they are nested, each as it is: as JSON, a line would begin with an n."""
    texts: list[str] = []
    left = [value]
    while left:
        match left.pop():
            case str(text):
                texts.append(text)
            case Mapping() as named:
                left += [*named.keys(), *named.values()]
            case list() | tuple() as items:
                left += items
    return "\n".join(texts)


def _is_in(address: str, given: str) -> bool:
    """As a whole: bob@example.org is not in jim.bob@example.org, nor in bob@example.org.uk."""
    whole = rf"(?<![\w.+-]){re.escape(address.strip().lower())}(?![\w-]|\.\w)"
    return bool(_ADDRESS.fullmatch(address.strip()) and re.search(whole, given))


def _query(task: str, about: re.Match[str] | None) -> str:
    sender = _FROM.search(task) or _WHOSE.search(task)
    words = [f"from:{sender['who'].rstrip('.')}"] if sender else []
    if about:
        words.append(f"subject:({one_line(about['what'])[:80]})")
    if _UNREAD.search(task):
        words.append("is:unread")
    if _TODAY.search(task):
        words.append("newer_than:1d")
    return " ".join(words)
