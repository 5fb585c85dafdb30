"""What tools reach the world by: one protocol for each kind of provider, and what stands there until one is configured.

A provider raises ToolError for what it could not do, in words for a model. `about` says whose data a call may touch.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, Protocol
from uuid import UUID

from agents.browser.values import SeenPage, Touching
from agents.mail.files import AttachedFile
from agents.mcp.values import Offered
from agents.runtime.driven import About
from agents.runtime.lookups import Lookups
from agents.tools.tool import Call, Reply, ToolError
from agents.tools.values import (
    AppInstalled,
    AppStarted,
    Artifacts,
    CodeRun,
    DocumentFilters,
    DocumentList,
    DocumentText,
    DraftMail,
    FetchedPage,
    FileText,
    Folder,
    FoundChunks,
    ImageReading,
    Language,
    MadeImage,
    MailboxFacts,
    MailHeader,
    MailMessage,
    OutgoingMail,
    SearchPage,
    StoredFile,
    StoredMail,
)


class Web(Protocol):
    async def search(
        self, about: About, query: str, *, search_type: Literal["basic", "news", "deep"], max_results: int
    ) -> SearchPage:
        """News are recent articles; deep brings the pages' texts as well (S180)."""


class Pages(Protocol):
    async def fetch(self, about: About, url: str, *, stays: bool = False) -> FetchedPage:
        """A page as text, all of it. Decides itself which addresses may be reached. `stays`: a redirect to another host
        is not followed, but told."""


@dataclass(frozen=True, slots=True)
class OriginalFile:
    filename: str
    content: bytes


class Documents(Protocol):
    """The documents that the user may see; the filter is the provider's, never an argument."""

    async def search(
        self,
        about: About,
        query: str,
        *,
        top_k: int,
        document_ids: Sequence[str],
        filters: DocumentFilters,
        project_id: str | None = None,
    ) -> FoundChunks:
        """The best passages, best first. Without `document_ids` all documents are searched, those of the project
        first."""

    async def read(self, about: About, document_id: str, *, first_page: int, last_page: int) -> DocumentText:
        """The pages from first to last, both included, as far as there are any."""

    async def original(self, about: About, document_id: str) -> OriginalFile:
        """The file as it was given."""

    async def listed(self, about: About, *, name_contains: str, limit: int) -> DocumentList:
        """The documents in whatever state, newest first."""


class Sandbox(Protocol):
    """A closed place for code, one for each user and conversation."""

    has_network: bool
    """Whether its programs can send anything anywhere."""

    async def run(
        self,
        about: About,
        code: str,
        *,
        language: Language,
        heard: Callable[[Literal["stdout", "stderr"], str], None] | None = None,
        only_over: Sequence[UUID] | None = None,
    ) -> CodeRun:
        """Code that fails is a result with its exit code, no error. `heard` is told of output as it comes. `only_over`:
        what it writes over a file that none of these runs wrote goes beside it; None: it takes its place."""

    async def read_file(self, about: About, path: str) -> FileText: ...

    async def write_file(
        self, about: About, path: str, text: str, *, only_over: Sequence[UUID] | None = None
    ) -> StoredFile:
        """`only_over`: as above, but for the file of this path, of which a person was asked."""

    async def list_files(self, about: About, path: str) -> tuple[StoredFile, ...]: ...

    async def collect_artifacts(
        self,
        about: About,
        patterns: Sequence[str],
        *,
        max_files: int,
        max_size_mb: float,
        only_over: Sequence[UUID] | None = None,
    ) -> Artifacts:
        """Files that go along with a handoff, kept where `restore_artifacts` finds them. `only_over`: as above."""

    async def restore_artifacts(self, about: About, paths: Sequence[str]) -> Artifacts: ...

    async def lying_there(self, about: About, paths: Sequence[str]) -> Artifacts:
        """Those of these files that programs find in the sandbox as it is."""

    async def cleanup_artifacts(self, about: About, paths: Sequence[str]) -> None: ...

    async def clear_given(self, about: About) -> None:
        """Removes what `restore_artifacts` put there for this run and `cleanup_artifacts` did not remove."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptRun:
    """One run of a script, from its start to its end. `seed`: what chance is made of in it, the same each time.
    `again`: it was begun before; what that run left is put back as it was before it. `heard` is told of its output as
    it comes; `answer` is given each line that it sends, several at a time, and gives the line that goes back.
    `stopped`: when it is done, the program is ended, and what it made until then is taken as of any other.
    `only_over`: as for `Sandbox.run`."""

    code: str
    seed: str
    again: bool
    wall_s: float
    heard: Callable[[Literal["stdout", "stderr"], str], None]
    answer: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
    stopped: asyncio.Future[Any] | None = None
    only_over: Sequence[UUID] | None = None


class Scripts(Protocol):
    """Programs in the same closed place that call tools while they run."""

    async def run_script(self, about: About, script: ScriptRun) -> CodeRun:
        """Nothing of it runs any more when this returns or is cancelled."""


class Apps(Protocol):
    """Web apps of the conversation: a project in its workspace, a server in its box."""

    async def create(self, about: About, starter: str, *, by: str, key: str) -> tuple[StoredFile, ...]:
        """The files of a project's beginning, put into the workspace."""

    async def write(self, about: About, path: str, content: str, *, by: str, key: str) -> StoredFile: ...

    async def install(self, about: About, packages: Sequence[str], *, manager: str) -> AppInstalled: ...

    async def start(self, about: About, *, title: str, command: str, port: int) -> AppStarted:
        """In place of the one before. A server that does not come up is a result, no error."""


class Browser(Protocol):
    """The browser of the conversation. It goes on between calls; whatever goes away is told as ToolError."""

    async def navigate(self, about: About, url: str) -> SeenPage:
        """Opens the browser where there is none. Decides itself which addresses may be reached."""

    async def look(self, about: About) -> SeenPage: ...

    async def described(self, about: About, target: str) -> str:
        """What the element with this reference was when the page was last seen, and on which page."""

    async def at_point(self, about: About, x: int, y: int) -> str:
        """What a click there would hit, and on which page."""

    async def focused(self, about: About) -> str:
        """What a key would go to, and on which page."""

    async def click(self, about: About, on: str, *, at: tuple[int, int] | None, touching: Touching) -> SeenPage:
        """`on`: as `described` or `at_point` gave it. If that is not there any more, nothing is done. The same with
        the others. Awaits `touching` right before the page is touched."""

    async def type(self, about: About, on: str, text: str, *, submit: bool, touching: Touching) -> SeenPage: ...

    async def press(self, about: About, on: str, key: str, *, touching: Touching) -> SeenPage:
        """`on`: as `focused` gave it."""

    async def scroll(self, about: About, direction: Literal["up", "down"], screens: float) -> SeenPage: ...


class Mailbox(Protocol):
    """The user's own mailboxes. `account`: the address of one of them; without, the default one. Queries are in Gmail's
    syntax. An id of a mail is as a search gave it, or its Message-ID."""

    async def accounts(self, about: About) -> tuple[MailboxFacts, ...]:
        """The default one first."""

    async def labels(self, about: About, *, account: str = "") -> tuple[str, ...]:
        """Those that the user made, where the mailbox has such."""

    async def search(
        self, about: About, folder: Folder, query: str, *, limit: int, account: str = ""
    ) -> tuple[MailHeader, ...]:
        """Newest first."""

    async def read(self, about: About, message_id: str, *, account: str = "") -> MailMessage: ...

    async def thread(self, about: About, message_id: str, *, limit: int, account: str = "") -> tuple[MailMessage, ...]:
        """The mails of its conversation, oldest first, itself among them."""

    async def attachment(self, about: About, message_id: str, number: int, *, account: str = "") -> AttachedFile: ...

    async def save_draft(
        self, about: About, mail: OutgoingMail, *, files: Sequence[AttachedFile] = (), account: str = ""
    ) -> StoredMail: ...

    async def draft(self, about: About, draft_id: str, *, account: str = "") -> DraftMail:
        """A draft as it would be sent."""

    async def send(
        self,
        about: About,
        mail: OutgoingMail,
        *,
        touching: Callable[[], Awaitable[None]],
        files: Sequence[AttachedFile] = (),
        account: str = "",
    ) -> StoredMail:
        """Leaves the user's own address out of an answer to all. Awaits `touching` before what cannot be taken back: a
        mail for which it was not awaited, or that a plain ToolError tells of, surely was not sent."""

    async def send_draft(
        self,
        about: About,
        draft_id: str,
        *,
        message_id: str,
        digest: str,
        touching: Callable[[], Awaitable[None]],
        account: str = "",
    ) -> StoredMail:
        """The same with a draft, which is gone then. `digest`: of the draft that was agreed to; another is not sent."""

    async def holds(self, about: About, folder: Folder, message_id: str, *, account: str = "") -> bool | None:
        """Whether a mail with this Message-ID is there now; None if the mailbox cannot tell."""


class Images(Protocol):
    async def make(self, about: About, prompt: str, *, shape: Literal["square", "portrait", "landscape"]) -> MadeImage:
        """An image of what `prompt` describes, stored in the workspace."""

    async def look(
        self, about: About, image: str, question: str, *, stays: bool = False, provider: str | None = None
    ) -> ImageReading:
        """`image`: a path of the workspace, the id of an attached file, or the address of an image on the web. `stays`:
        as for pages. `provider`: the only one that may see it, where a person chose one."""


class FileChanged(ToolError):
    """Something else stands there than what was meant; nothing was written."""


class Workspace(Protocol):
    """Files that agents, sandbox and page share. A scope is the user, a project or the conversation (S81). `by` is the
    agent or tool that writes, `key` the idempotency key of its call."""

    async def list_files(self, about: About, *, scope: str, prefix: str) -> tuple[StoredFile, ...]: ...

    async def standing(self, about: About, path: str, *, scope: str = "conversation") -> StoredFile | None:
        """What would be replaced by a file that is written to this path, however that is spelled."""

    async def read_file(self, about: About, path: str, *, scope: str) -> FileText:
        """The whole text."""

    async def write_file(
        self, about: About, path: str, text: str, *, scope: str, by: str = "", key: str = ""
    ) -> StoredFile: ...

    async def edit_file(
        self, about: About, path: str, old: str, new: str, *, scope: str, by: str = "", key: str = ""
    ) -> StoredFile:
        """Replaces `old`, which stands in the text exactly once, by `new`."""

    async def delete_file(self, about: About, path: str, *, scope: str, only: StoredFile | None = None) -> StoredFile:
        """The file that was there. `only`: as it was seen; one that is another by now stays."""

    async def was_written(self, about: About, path: str, key: str, *, scope: str) -> bool:
        """Whether the call with this key has written the file."""

    async def stood_before(self, about: About, path: str, *, scope: str, runs: Sequence[UUID]) -> bool:
        """Whether a file is there whose present version none of these runs wrote. A path that ends with a slash: any
        below it."""

    async def read_bytes(self, about: About, path: str, *, scope: str = "conversation") -> bytes: ...

    async def write_bytes(
        self,
        about: About,
        path: str,
        content: bytes,
        media_type: str = "",
        *,
        scope: str = "conversation",
        by: str = "",
        key: str = "",
        expected: str | None = None,
    ) -> StoredFile:
        """`media_type`: where the path's ending does not tell it. `expected`: the mark of what is to be replaced, empty
        if nothing is; where something else stands there it raises FileChanged."""


class Connections(Protocol):
    """Servers that people connected, whose tools agents call like ours (MCP)."""

    async def offered(self, about: About, lookups: Lookups | None) -> Mapping[str, Sequence[Offered]]:
        """By agent, what runs of this user may call, in the order of the names. `lookups`: the run's own."""

    async def call(self, call: Call, offered: Offered, arguments: dict[str, Any]) -> Reply:
        """Refuses what is not, any more, as it was offered."""


class NotConfigured:
    """Stands where a provider is missing: every call raises ToolError with what is missing and the way out."""

    def __init__(self, message: str) -> None:
        self.message = message

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        if name.startswith("_"):
            raise AttributeError(name)

        async def refuse(*_: Any, **__: Any) -> Any:
            raise ToolError(self.message)

        return refuse


def _missing(message: str) -> Callable[[], Any]:
    return lambda: NotConfigured(message)


@dataclass(frozen=True, slots=True)
class Providers:
    """All providers of a process. Whoever configures one hands it in here."""

    web: Web = field(
        default_factory=_missing(
            "Web search is not configured: set TAVILY_API_KEY (a key from tavily.com), SEARXNG_URL (a SearXNG of your "
            "own), or SEARCH_PROVIDER=ddgs, which needs no key."
        )
    )
    pages: Pages = field(
        default_factory=_missing("Reading web pages is not configured: set up a runner by manage.py worker.")
    )
    sandbox: Sandbox = field(
        default_factory=_missing("Running code is not configured: set SANDBOX_PROVIDER to local, e2b or docker.")
    )
    scripts: Scripts = field(
        default_factory=_missing("Running scripts is not configured: set SANDBOX_PROVIDER to local, e2b or docker.")
    )
    apps: Apps = field(
        default_factory=_missing("Building apps is not configured: set SANDBOX_PROVIDER to local, e2b or docker.")
    )
    browser: Browser = field(
        default_factory=_missing("The browser is not configured: set SANDBOX_PROVIDER to local, and install Chromium.")
    )
    mailbox: Mailbox = field(default_factory=_missing("Mail is not configured: set IMAP_URL and SMTP_URL."))
    documents: Documents = field(
        default_factory=_missing("Document search is not configured: set DATABASE_URL, and start manage.py worker.")
    )
    images: Images = field(
        default_factory=_missing(
            "Images are not configured: set OPENAI_API_KEY or GEMINI_API_KEY, or IMAGE_MODEL to a model that makes "
            "them."
        )
    )
    workspace: Workspace = field(
        default_factory=_missing("The workspace is not configured: set DATA_DIR or STORAGE_URL.")
    )

    connections: Connections = field(default_factory=_missing("This process reaches no connected servers."))

    def lacks(self, names: Sequence[str]) -> str:
        """Which of these are not configured, a sentence each with the way out; empty if all are. KeyError: unknown."""
        unknown = [name for name in names if name not in PROVIDER_NAMES]
        if unknown:
            raise KeyError(f"there is no provider {', '.join(unknown)}; there are {', '.join(PROVIDER_NAMES)}")
        found = [getattr(self, name) for name in names]
        return " ".join(provider.message for provider in found if isinstance(provider, NotConfigured))

    async def lacks_for(self, about: About, names: Sequence[str]) -> str:
        """The same for this user: a provider that some people have and others not says it by `why_not_for`."""
        lacking = self.lacks(names)
        asked = [getattr(getattr(self, name), "why_not_for", None) for name in names if not lacking]
        said = [await why_not_for(about) for why_not_for in asked if why_not_for is not None]
        return lacking or " ".join(filter(None, said))


PROVIDER_NAMES: Final = tuple(provider.name for provider in fields(Providers))
_STAYING: Final = ("documents", "workspace")
REACHING_PROVIDERS: Final = tuple(name for name in PROVIDER_NAMES if name not in _STAYING)
"""By which a tool may reach further than the installation itself."""
