"""What tools give and take: typed values that are stored and sent as JSON. Knows no tool and no provider."""

from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, field_validator

from agents.craft.exchange import Value

Address = Annotated[str, Field(pattern=r"^[^\s@<>,;:\"]+@[^\s@<>,;:\"]+$", max_length=254)]
Subject = Annotated[str, Field(pattern=r"^[^\r\n]*$", min_length=1, max_length=500)]
Folder = Literal["inbox", "sent", "drafts"]


# --- the web (S180, S181)


class SearchResult(Value):
    """`score`: 0..1, higher fits better. `raw_content`: the page's text, where a deep search brought it."""

    title: str
    url: str
    snippet: str = ""
    score: float = 0
    published: str | None = None
    raw_content: str | None = None


class SearchPage(Value):
    """`answer`: the search service's own short answer, if it gives one."""

    query: str
    search_type: Literal["basic", "news", "deep"] = "basic"
    answer: str = ""
    results: tuple[SearchResult, ...] = ()


class FetchedPage(Value):
    """`url`: where the text came from in the end, after redirects. `text`: of long pages one part, `part` of `parts`.
    `is_whole`: whether it can all be read; of very long pages the end cannot."""

    url: str
    title: str = ""
    text: str
    is_whole: bool = True
    part: int = 1
    parts: int = 1


# --- documents (S174)


class ChunkMetadata(Value):
    """`page`: where it begins; `last_page`: where it ends."""

    filename: str
    page: int | None = None
    last_page: int | None = None
    section_title: str | None = None
    doc_type: str | None = None
    date: str | None = None


class Chunk(Value):
    """`score`: 0..1, higher is closer. `start` and `end`: its place in the document's text. `chunk_id`: empty for a
    page that was read as a whole."""

    chunk_id: str
    score: float
    text: str
    metadata: ChunkMetadata
    doc_id: str | None = None
    start: int | None = None
    end: int | None = None


class FoundChunks(Value):
    """`confidence`: 0..1, the mean score (S173). `note`: what the search had to do without, for people. `unread`: how
    many documents are still being read, so that no search finds them yet."""

    query: str
    chunks: tuple[Chunk, ...] = ()
    confidence: float | None = None
    note: str = ""
    unread: int = Field(default=0, ge=0, exclude_if=lambda count: not count)


class DocumentFilters(Value):
    """Only what fits all of these; dates as YYYY-MM-DD."""

    doc_type: str | None = Field(
        default=None, description="The kind of document: pdf, docx, xlsx, xls, ods, csv, pptx, html, eml, md, txt"
    )
    filename: str | None = Field(default=None, description="A part of the file's name")
    section_title: str | None = Field(default=None, description="Words of the headings above a passage")
    date_from: str | None = Field(default=None, description="Not older than this day, YYYY-MM-DD")
    date_to: str | None = Field(default=None, description="Not newer than this day, YYYY-MM-DD")


PAGE_MARK: Final = "[page {number}]\n"


class ListedDocument(Value):
    """`state`: a word for how far it is, such as ready. `date`: the document's own, YYYY-MM-DD. `is_own`: the asker's,
    not one that others share with them."""

    doc_id: str
    filename: str
    title: str = ""
    doc_type: str = ""
    date: str | None = None
    description: str = ""
    state: str = ""
    total_pages: int = 0
    is_own: bool = True


class DocumentList(Value):
    """`total`: how many there are; not all of them need be listed."""

    documents: tuple[ListedDocument, ...] = ()
    total: int = 0


class DocumentText(Value):
    """Pages are counted from 1; a document without pages has one. Of others each page in `text` begins with its mark,
    below an empty line. `page_ends`: where in it each page ends that is wholly in it."""

    doc_id: str
    filename: str
    text: str
    first_page: int = 1
    last_page: int = 1
    total_pages: int = 1
    page_ends: tuple[int, ...] = ()

    def pages(self) -> tuple[tuple[int, str], ...]:
        """The pages that are wholly in it, by their numbers; the beginning of the first, if none is. By their marks:
        a guard that changed the text has moved the ends."""
        number, rest = self.first_page, self.text
        if self.total_pages > 1:
            rest = rest.removeprefix(PAGE_MARK.format(number=number))
        found = []
        while number < self.last_page:
            text, mark, after = rest.partition(f"\n\n{PAGE_MARK.format(number=number + 1)}")
            if not mark:
                break
            found.append((number, text))
            number, rest = number + 1, after
        return (*found, (number, rest))[: max(1, len(self.page_ends))]


# --- code (S177, S200)

Language = Literal["python", "javascript", "typescript", "bash"]


class StoredFile(Value):
    """`version`, `scope_id`: of a file in a workspace, which version it is, and of which conversation, project or
    user. `sha256`: of that version, for this process alone."""

    path: str
    size_bytes: int = 0
    media_type: str = ""
    version: int | None = None
    scope_id: str | None = None
    sha256: Annotated[str, Field(exclude=True, repr=False)] = ""

    @property
    def mark(self) -> str:
        """What is another one whenever something else stands there, as `memory.workspaces.files.mark_of`."""
        return f"{self.version}-{self.sha256}"


FILE_CHARS: Final = 400_000
"""Of a text that a tool puts into the sandbox as a file."""


class CodeRun(Value):
    """`exit_code` is None where the run was stopped before it ended; `note` then says why, and whatever else is to be
    known of it. `created_files`: paths of what it made or changed; `stored_files`: those that the workspace has now;
    `removed_files`: those that it had before, as they were.
    `sandbox_id`: of the session whose box ran it (`agents.sandbox.models.SandboxSession`)."""

    code: str
    language: Language = "python"
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    created_files: tuple[str, ...] = ()
    stored_files: tuple[StoredFile, ...] = ()
    removed_files: tuple[StoredFile, ...] = ()
    note: str = ""
    sandbox_id: str | None = None


class Artifacts(Value):
    """Files that go along with a handoff. `left_out`: what does not, with why."""

    files: tuple[StoredFile, ...] = ()
    left_out: tuple[str, ...] = ()


class FileText(Value):
    path: str
    text: str


# --- mail (S178, S179)


class MailHeader(Value):
    """`id`: the mailbox's own; `message_id`: the one that stands in the mail."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )

    id: str
    sender: str = Field(default="", alias="from")
    to: tuple[str, ...] = ()
    subject: str = ""
    date: str = ""
    snippet: str = ""
    thread_id: str | None = None
    message_id: str | None = None
    account: str = Field(default="", description="the mailbox that it is in, where the user has some of their own")


class MailAttachment(Value):
    """`number`: its place among the mail's attachments, from 1 on. `size_bytes`: as it would be saved."""

    number: int
    name: str
    media_type: str = "application/octet-stream"
    size_bytes: int = 0


class MailMessage(MailHeader):
    cc: tuple[str, ...] = ()
    reply_to: str | None = None
    body: str = ""
    references: tuple[str, ...] = ()
    attachments: tuple[MailAttachment, ...] = ()

    @field_validator("attachments", mode="before")
    @classmethod
    def _names_alone(cls, value: Any) -> Any:
        """As they stand in older journals."""
        if not isinstance(value, list | tuple):
            return value
        return [{"number": n, "name": one} if isinstance(one, str) else one for n, one in enumerate(value, start=1)]


class MailboxFacts(Value):
    """`shared`: the installation's, for whoever has none of their own. `trouble`: why it cannot be used, in words."""

    address: str
    name: str = ""
    kind: Literal["imap", "gmail", "shared"] = "imap"
    is_default: bool = False
    trouble: str = ""


class DraftMail(Value):
    """A draft as it would be sent. `digest`: of its bytes; another one means that somebody changed it since."""

    id: str
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    subject: str = ""
    body: str = ""
    attachments: tuple[MailAttachment, ...] = ()
    account: str = Field(default="", description="the mailbox that it is in, where the user has some of their own")
    digest: str


class OutgoingMail(Value):
    """`message_id` is made of the call's key, so that the mail can be found again. The last three make a reply one."""

    message_id: str
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    subject: Annotated[str, Field(pattern=r"^[^\r\n]*$", max_length=998)] = ""
    body: str = ""
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    thread_id: str | None = None


class StoredMail(Value):
    """A mail that was sent, or put among the drafts."""

    id: str
    message_id: str
    to: tuple[str, ...] = ()
    subject: str = ""
    sender: str = Field(default="", description="the address that it is from")


# --- images


class ModelUse(Value):
    """What a model took that a tool asked: counted like the agents' own calls. `cost_usd`: None if not known.
    `is_estimate`: part of it is of an answer that broke off; stored only where so."""

    model: str
    provider: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: str | None = None
    is_estimate: bool = Field(default=False, exclude_if=lambda said: not said)


class MadeImage(Value):
    """`path`: where it lies in the workspace of `scope`, and `version` which one of that file it is."""

    path: str
    scope: str = "conversation"
    scope_id: str | None = None
    alt: str = ""
    media_type: str = "image/png"
    width: int | None = None
    height: int | None = None
    size_bytes: int | None = None
    version: int | None = None
    use: ModelUse | None = None


class ImageReading(Value):
    image: str
    question: str
    text: str
    use: ModelUse | None = None


# --- presentations


class MadeSlides(Value):
    """Paths in the workspace. `overview`: a picture of all slides; `pictures`: one of each."""

    path: str
    slides: int
    overview: str
    pictures: tuple[str, ...] = ()


# --- apps (S197)


class AppInstalled(Value):
    """`said`: what the installer wrote."""

    installed: bool
    packages: tuple[str, ...]
    said: str = ""


class AppStarted(Value):
    """`url`: of its preview, from this installation on. Where it did not come up `note` says why, and `said` what it
    wrote."""

    running: bool
    title: str
    port: int
    url: str = ""
    note: str = ""
    said: str = ""
