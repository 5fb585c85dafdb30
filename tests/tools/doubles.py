"""Providers in memory for the tests of tools and agents: they keep what they were asked, and can be told to fail."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from agents.apps.starters import STARTERS
from agents.browser.values import SeenPage
from agents.mail.files import AttachedFile
from agents.runtime.context import AgentContext
from agents.runtime.driven import About
from agents.tools.arguments import Refusal
from agents.tools.checks import Checks, Request
from agents.tools.providers import FileChanged, OriginalFile, Providers, ScriptRun
from agents.tools.tool import ToolError
from agents.tools.values import (
    AppInstalled,
    AppStarted,
    Artifacts,
    Chunk,
    ChunkMetadata,
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
    ListedDocument,
    MadeImage,
    MailboxFacts,
    MailHeader,
    MailMessage,
    OutgoingMail,
    SearchPage,
    SearchResult,
    StoredFile,
    StoredMail,
)

Happens = Callable[[], Awaitable[None]]


async def nothing() -> None:
    """What happens in a provider by default."""


@dataclass
class FakeWeb:
    results: tuple[SearchResult, ...] = (
        SearchResult(
            title="Acme grows", url="https://news.example.org/acme", snippet="Revenue rose by 12 %.", score=0.9
        ),
        SearchResult(title="", url="https://other.example.org/x", snippet="Nothing of use", score=0.4),
    )
    answer: str = "Acme grew."
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    happens: Happens = nothing

    async def search(
        self, about: About, query: str, *, search_type: Literal["basic", "news", "deep"], max_results: int
    ) -> SearchPage:
        self.asked.append((query, search_type, max_results))
        await self.happens()
        return SearchPage(query=query, search_type=search_type, answer=self.answer, results=self.results[:max_results])


@dataclass
class FakePages:
    pages: dict[str, FetchedPage] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def fetch(self, about: About, url: str, *, stays: bool = False) -> FetchedPage:
        self.asked.append(url)
        if url not in self.pages:
            raise ToolError(f"{url} could not be read: there is no such page.")
        return self.pages[url]


@dataclass
class FakeDocuments:
    chunks: tuple[Chunk, ...] = (
        Chunk(
            chunk_id="c1",
            score=0.92,
            text="Revenue in Q3 was 42 million.",
            metadata=ChunkMetadata(filename="report.pdf", page=3, section_title="Revenue"),
            doc_id="d1",
        ),
    )
    documents: tuple[ListedDocument, ...] = (ListedDocument(doc_id="d1", filename="report.pdf", state="ready"),)
    originals: dict[str, OriginalFile] = field(default_factory=dict)
    note: str = ""
    asked: list[tuple[str, int, tuple[str, ...], DocumentFilters]] = field(default_factory=list)

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
        self.asked.append((query, top_k, tuple(document_ids), filters))
        return self.found(query, top_k)

    def found(self, query: str, top_k: int) -> FoundChunks:
        chunks = self.chunks[:top_k]
        confidence = sum(chunk.score for chunk in chunks) / len(chunks) if chunks else 0.0
        return FoundChunks(query=query, chunks=chunks, confidence=confidence, note=self.note)

    async def listed(self, about: About, *, name_contains: str, limit: int) -> DocumentList:
        found = [document for document in self.documents if name_contains in document.filename]
        return DocumentList(documents=tuple(found[:limit]), total=len(found))

    async def original(self, about: About, document_id: str) -> OriginalFile:
        if document_id not in self.originals:
            raise ToolError(f"There is no document {document_id} that this user may see.")
        return self.originals[document_id]

    async def read(self, about: About, document_id: str, *, first_page: int, last_page: int) -> DocumentText:
        last = min(last_page, 30)
        return DocumentText(
            doc_id=document_id,
            filename="report.pdf",
            text="\n".join(f"page {number}" for number in range(first_page, last + 1)),
            first_page=first_page,
            last_page=last,
            total_pages=30,
        )


@dataclass
class FakeSandbox:
    """Prints what `outputs` has for a program, else nothing. `kept`: what can be put back into it."""

    outputs: dict[str, CodeRun] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    given: dict[str, UUID] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    only_over: list[Sequence[UUID] | None] = field(default_factory=list)
    """Of each program, which runs' files it might replace."""
    has_network: bool = False

    async def run(
        self,
        about: About,
        code: str,
        *,
        language: Language,
        heard: Callable[[Literal["stdout", "stderr"], str], None] | None = None,
        only_over: Sequence[UUID] | None = None,
    ) -> CodeRun:
        self.ran.append(code)
        self.only_over.append(only_over)
        run = self.outputs.get(code, CodeRun(code=code, language=language, exit_code=0))
        if heard is not None and run.stdout:
            heard("stdout", run.stdout)
        return run

    async def read_file(self, about: About, path: str) -> FileText:
        if path not in self.files:
            raise ToolError(f"there is no file {path}. The files are: {', '.join(self.files) or 'none'}.")
        return FileText(path=path, text=self.files[path])

    async def write_file(
        self, about: About, path: str, text: str, *, only_over: Sequence[UUID] | None = None
    ) -> StoredFile:
        self.files[path] = text
        return StoredFile(path=path, size_bytes=len(text.encode()))

    async def list_files(self, about: About, path: str) -> tuple[StoredFile, ...]:
        return tuple(StoredFile(path=name, size_bytes=len(text.encode())) for name, text in self.files.items())

    async def collect_artifacts(
        self,
        about: About,
        patterns: Sequence[str],
        *,
        max_files: int,
        max_size_mb: float,
        only_over: Sequence[UUID] | None = None,
    ) -> Artifacts:
        return Artifacts(files=(await self.list_files(about, "."))[:max_files])

    async def restore_artifacts(self, about: About, paths: Sequence[str]) -> Artifacts:
        missing = [path for path in paths if path in self.kept and path not in self.files]
        self.given.update(dict.fromkeys(missing, about.execution_id))
        self.files.update({path: self.kept[path] for path in missing})
        return await self.lying_there(about, paths)

    async def lying_there(self, about: About, paths: Sequence[str]) -> Artifacts:
        files = await self.list_files(about, ".")
        return Artifacts(files=tuple(file for file in files if file.path in paths))

    async def cleanup_artifacts(self, about: About, paths: Sequence[str]) -> None:
        for path in paths:
            self.files.pop(path, None)
            self.given.pop(path, None)

    async def clear_given(self, about: About) -> None:
        given = [path for path, execution_id in self.given.items() if execution_id == about.execution_id]
        await self.cleanup_artifacts(about, given)


@dataclass
class FakeScripts:
    """Runs nothing; `tests.codeact.driving` has those that do."""

    async def run_script(self, about: About, script: ScriptRun) -> CodeRun:
        return CodeRun(code=script.code, exit_code=0)


@dataclass
class FakeMailbox:
    """`sent` and `drafts` are what arrived. `after_send` happens between a mail's arrival and the answer about it."""

    inbox: tuple[MailMessage, ...] = ()
    sent: list[OutgoingMail] = field(default_factory=list)
    drafts: list[OutgoingMail] = field(default_factory=list)
    searched: list[tuple[str, str, int]] = field(default_factory=list)
    addresses: tuple[MailboxFacts, ...] = ()
    attached: dict[int, AttachedFile] = field(default_factory=dict)
    sent_files: list[tuple[AttachedFile, ...]] = field(default_factory=list)
    can_tell: bool = True
    before_send: Happens = nothing
    after_send: Happens = nothing

    async def accounts(self, about: About) -> tuple[MailboxFacts, ...]:
        return self.addresses

    async def labels(self, about: About, *, account: str = "") -> tuple[str, ...]:
        return ()

    async def search(
        self, about: About, folder: Folder, query: str, *, limit: int, account: str = ""
    ) -> tuple[MailHeader, ...]:
        self.searched.append((folder, query, limit))
        heads = set(MailHeader.model_fields)
        return tuple(MailHeader.model_validate(mail.model_dump(include=heads)) for mail in self.inbox[:limit])

    async def read(self, about: About, message_id: str, *, account: str = "") -> MailMessage:
        for mail in self.inbox:
            if mail.id == message_id:
                return mail
        raise ToolError(f"there is no mail with the id {message_id}: search for it first.")

    async def thread(self, about: About, message_id: str, *, limit: int, account: str = "") -> tuple[MailMessage, ...]:
        return (await self.read(about, message_id),)

    async def attachment(self, about: About, message_id: str, number: int, *, account: str = "") -> AttachedFile:
        if number not in self.attached:
            raise ToolError(f"This mail has no attachment {number}.")
        return self.attached[number]

    async def save_draft(
        self, about: About, mail: OutgoingMail, *, files: Sequence[AttachedFile] = (), account: str = ""
    ) -> StoredMail:
        self.drafts.append(mail)
        self.sent_files.append(tuple(files))
        return StoredMail(id=f"draft-{len(self.drafts)}", message_id=mail.message_id, to=mail.to, subject=mail.subject)

    async def draft(self, about: About, draft_id: str, *, account: str = "") -> DraftMail:
        for number, mail in enumerate(self.drafts, start=1):
            if draft_id == f"draft-{number}":
                digest = str(hash(mail.model_dump_json()))
                return DraftMail(
                    id=draft_id, to=mail.to, cc=mail.cc, subject=mail.subject, body=mail.body, digest=digest
                )
        raise ToolError(f"there is no draft with the id {draft_id}: search for it first.")

    async def send(
        self,
        about: About,
        mail: OutgoingMail,
        *,
        touching: Happens = nothing,
        files: Sequence[AttachedFile] = (),
        account: str = "",
    ) -> StoredMail:
        await self.before_send()
        await touching()
        self.sent.append(mail)
        self.sent_files.append(tuple(files))
        await self.after_send()
        return StoredMail(id=f"sent-{len(self.sent)}", message_id=mail.message_id, to=mail.to, subject=mail.subject)

    async def send_draft(
        self,
        about: About,
        draft_id: str,
        *,
        message_id: str,
        digest: str,
        touching: Happens = nothing,
        account: str = "",
    ) -> StoredMail:
        draft = await self.draft(about, draft_id)
        assert draft.digest == digest
        mail = OutgoingMail(message_id=message_id, to=draft.to, cc=draft.cc, subject=draft.subject, body=draft.body)
        return await self.send(about, mail, touching=touching)

    async def holds(self, about: About, folder: Folder, message_id: str, *, account: str = "") -> bool | None:
        if not self.can_tell:
            return None
        return message_id in [mail.message_id for mail in (self.drafts if folder == "drafts" else self.sent)]


@dataclass
class FakeImages:
    made: list[str] = field(default_factory=list)

    async def make(self, about: About, prompt: str, *, shape: Literal["square", "portrait", "landscape"]) -> MadeImage:
        self.made.append(prompt)
        return MadeImage(path=f"images/{len(self.made)}.png", alt=prompt)

    async def look(
        self, about: About, image: str, question: str, *, stays: bool = False, provider: str | None = None
    ) -> ImageReading:
        return ImageReading(image=image, question=question, text="A red bicycle.")


@dataclass
class FakeWorkspace:
    """`written`: the keys of the calls that wrote each file."""

    files: dict[str, str] = field(default_factory=dict)
    written: dict[str, list[str]] = field(default_factory=dict)

    async def list_files(self, about: About, *, scope: str, prefix: str) -> tuple[StoredFile, ...]:
        found = sorted(path for path in self.files if path.startswith(prefix))
        return tuple(self._stored(path) for path in found)

    async def standing(self, about: About, path: str, *, scope: str = "conversation") -> StoredFile | None:
        return self._stored(path) if path in self.files else None

    async def read_file(self, about: About, path: str, *, scope: str) -> FileText:
        if path not in self.files:
            raise ToolError(f"There is no file {path}.")
        return FileText(path=path, text=self.files[path])

    async def write_file(
        self, about: About, path: str, text: str, *, scope: str, by: str = "", key: str = ""
    ) -> StoredFile:
        self.files[path] = text
        self.written.setdefault(path, []).append(key)
        return self._stored(path)

    async def edit_file(
        self, about: About, path: str, old: str, new: str, *, scope: str, by: str = "", key: str = ""
    ) -> StoredFile:
        text = (await self.read_file(about, path, scope=scope)).text
        if text.count(old) != 1:
            raise ToolError(f"The text to replace stands in {path} {text.count(old)} times.")
        return await self.write_file(about, path, text.replace(old, new), scope=scope, by=by, key=key)

    async def delete_file(self, about: About, path: str, *, scope: str, only: StoredFile | None = None) -> StoredFile:
        await self.read_file(about, path, scope=scope)
        found = self._stored(path)
        del self.files[path]
        return found

    async def was_written(self, about: About, path: str, key: str, *, scope: str) -> bool:
        return key in self.written.get(path, ())

    async def stood_before(self, about: About, path: str, *, scope: str, runs: Sequence[UUID] = ()) -> bool:
        """Whoever writes here is the run that asks."""
        found = [one for one in self.files if one == path or (path.endswith("/") and one.startswith(path))]
        return any(one not in self.written for one in found)

    async def read_bytes(self, about: About, path: str, *, scope: str = "conversation") -> bytes:
        return (await self.read_file(about, path, scope=scope)).text.encode("latin-1")

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
        there = await self.standing(about, path)
        if expected not in (None, there.mark if there else ""):
            raise FileChanged("The file has changed meanwhile.")
        return await self.write_file(about, path, content.decode("latin-1"), scope=scope, by=by, key=key)

    def _stored(self, path: str) -> StoredFile:
        return StoredFile(path=path, size_bytes=len(self.files[path].encode()))


class FakeApps:
    """Servers come up after `failures` tries."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.files: dict[str, str] = {}
        self.commands: list[str] = []

    async def create(self, about: Any, starter: str, *, by: str, key: str) -> tuple[StoredFile, ...]:
        if STARTERS[starter].install:
            raise ToolError(f"{starter} needs packages that are not here.")
        return tuple(StoredFile(path=f"app/{path}") for path in STARTERS[starter].files())

    async def write(self, about: Any, path: str, content: str, *, by: str, key: str) -> StoredFile:
        self.files[path] = content
        return StoredFile(path=f"app/{path}", size_bytes=len(content))

    async def install(self, about: Any, packages: Any, *, manager: str) -> AppInstalled:
        return AppInstalled(installed=False, packages=tuple(packages), said="getaddrinfo failed")

    async def start(self, about: Any, *, title: str, command: str, port: int) -> AppStarted:
        self.commands.append(command)
        if len(self.commands) <= self.failures:
            return AppStarted(
                running=False, title=title, port=port, note="The server ended.", said="SyntaxError: line 3"
            )
        return AppStarted(running=True, title=title, port=port, url="/previews/1/")


class FakeBrowser:
    """One page that stays as it is."""

    def __init__(self, page: SeenPage | None = None) -> None:
        self.page = page or SeenPage("https://example.org/", "Example", '- button "Go" [ref=e1]', picture=b"jpeg")
        self.done: list[tuple[str, ...]] = []

    async def navigate(self, about: Any, url: str) -> SeenPage:
        return self.page

    async def look(self, about: Any) -> SeenPage:
        return self.page

    async def described(self, about: Any, target: str) -> str:
        return f"{target} on {self.page.url}"

    async def at_point(self, about: Any, x: int, y: int) -> str:
        return f"{x}, {y} on {self.page.url}"

    async def focused(self, about: Any) -> str:
        return f"body on {self.page.url}"

    async def click(self, about: Any, on: str, *, at: Any, touching: Any) -> SeenPage:
        return await self._did("click", on, touching=touching)

    async def type(self, about: Any, on: str, text: str, *, submit: bool, touching: Any) -> SeenPage:
        return await self._did("type", on, text, touching=touching)

    async def press(self, about: Any, on: str, key: str, *, touching: Any) -> SeenPage:
        return await self._did("press", on, key, touching=touching)

    async def scroll(self, about: Any, direction: str, screens: float) -> SeenPage:
        return self.page

    async def _did(self, *what: str, touching: Any) -> SeenPage:
        await touching()
        self.done.append(what)
        return self.page


def fake_providers(**others: Any) -> Providers:
    """All providers in memory; `others` take the place of single ones."""
    fakes: dict[str, Any] = {
        "web": FakeWeb(),
        "pages": FakePages(),
        "sandbox": FakeSandbox(),
        "scripts": FakeScripts(),
        "mailbox": FakeMailbox(),
        "documents": FakeDocuments(),
        "images": FakeImages(),
        "workspace": FakeWorkspace(),
        "apps": FakeApps(),
        "browser": FakeBrowser(),
    }
    return Providers(**{**fakes, **others})


async def say_yes(context: AgentContext, request: Request) -> Refusal | None:
    return None


APPROVE_ALL = Checks(approvals=(say_yes,))
"""For tests of what comes after a person's yes."""
