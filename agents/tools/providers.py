"""What tools reach the world by: one protocol for each kind of provider, and what stands there until one is configured.

A provider raises ToolError for what it could not do, in words for a model. `about` says whose data a call may touch.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, Protocol

from agents.runtime.context import About
from agents.tools.tool import ToolError
from agents.tools.values import (
    CodeRun,
    DocumentFilters,
    DocumentList,
    DocumentText,
    FetchedPage,
    FileText,
    Folder,
    FoundChunks,
    ImageReading,
    Language,
    MadeImage,
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
    async def fetch(self, about: About, url: str) -> FetchedPage:
        """A page as text. Decides itself which addresses may be reached."""


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

    async def listed(self, about: About, *, name_contains: str, limit: int) -> DocumentList:
        """The documents in whatever state, newest first."""


class Sandbox(Protocol):
    """A closed place for code, one for each user and conversation."""

    async def run(self, about: About, code: str, *, language: Language) -> CodeRun:
        """Code that fails is a result with its exit code, no error."""

    async def read_file(self, about: About, path: str) -> FileText: ...

    async def write_file(self, about: About, path: str, text: str) -> StoredFile: ...

    async def list_files(self, about: About, path: str) -> tuple[StoredFile, ...]: ...


class Mailbox(Protocol):
    """The user's own mailbox. Queries are in Gmail's syntax."""

    async def search(self, about: About, folder: Folder, query: str, *, limit: int) -> tuple[MailHeader, ...]:
        """Newest first."""

    async def read(self, about: About, message_id: str) -> MailMessage: ...

    async def save_draft(self, about: About, mail: OutgoingMail) -> StoredMail: ...

    async def send(self, about: About, mail: OutgoingMail, *, touching: Callable[[], Awaitable[None]]) -> StoredMail:
        """Leaves the user's own address out of an answer to all. Awaits `touching` before what cannot be taken back: a
        mail for which it was not awaited, or that a plain ToolError tells of, surely was not sent."""

    async def holds(self, about: About, folder: Folder, message_id: str) -> bool | None:
        """Whether a mail with this Message-ID is there now; None if the mailbox cannot tell."""


class Images(Protocol):
    async def make(self, about: About, prompt: str, *, shape: Literal["square", "portrait", "landscape"]) -> MadeImage:
        """An image of what `prompt` describes, stored in the workspace."""

    async def look(self, about: About, image: str, question: str) -> ImageReading:
        """`image`: a path of the workspace, or the id of an attached file."""


class Workspace(Protocol):
    """Files that agents, sandbox and page share. A scope is the user, a project or the conversation (S81)."""

    async def list_files(self, about: About, *, scope: str, prefix: str) -> tuple[StoredFile, ...]: ...

    async def read_file(self, about: About, path: str, *, scope: str) -> FileText: ...

    async def write_file(self, about: About, path: str, text: str, *, scope: str) -> StoredFile: ...


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


# True until the first of these settings is read; whoever adds a provider takes it out of its sentence.
NOT_YET: Final = "(This version does not read these settings yet.)"


def _missing(message: str, note: str = NOT_YET) -> Callable[[], Any]:
    return lambda: NotConfigured(f"{message} {note}".strip())


@dataclass(frozen=True, slots=True)
class Providers:
    """All providers of a process. Whoever configures one hands it in here."""

    web: Web = field(default_factory=_missing("Web search is not configured: set TAVILY_API_KEY or SEARCH_PROVIDER."))
    pages: Pages = field(
        default_factory=_missing("Reading web pages is not configured: set TAVILY_API_KEY or SEARCH_PROVIDER.")
    )
    sandbox: Sandbox = field(
        default_factory=_missing("Running code is not configured: set SANDBOX_PROVIDER to local, e2b or docker.")
    )
    mailbox: Mailbox = field(default_factory=_missing("Mail is not configured: set IMAP_URL and SMTP_URL.", note=""))
    documents: Documents = field(
        default_factory=_missing(
            "Document search is not configured: set DATABASE_URL, and start manage.py worker.", note=""
        )
    )
    images: Images = field(default_factory=_missing("Images are not configured: set OPENAI_API_KEY or GEMINI_API_KEY."))
    workspace: Workspace = field(
        default_factory=_missing("The workspace is not configured: set DATA_DIR or STORAGE_URL.")
    )

    def lacks(self, names: Sequence[str]) -> str:
        """Which of these are not configured, a sentence each with the way out; empty if all are. KeyError: unknown."""
        unknown = [name for name in names if name not in PROVIDER_NAMES]
        if unknown:
            raise KeyError(f"there is no provider {', '.join(unknown)}; there are {', '.join(PROVIDER_NAMES)}")
        found = [getattr(self, name) for name in names]
        return " ".join(provider.message for provider in found if isinstance(provider, NotConfigured))


PROVIDER_NAMES: Final = tuple(provider.name for provider in fields(Providers))
