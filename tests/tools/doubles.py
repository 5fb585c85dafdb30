"""Providers in memory for the tests of tools and agents: they keep what they were asked, and can be told to fail."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agents.runtime.context import About, AgentContext
from agents.tools.arguments import Refusal
from agents.tools.checks import Checks, Request
from agents.tools.providers import Providers
from agents.tools.tool import ToolError
from agents.tools.values import (
    Chunk,
    ChunkMetadata,
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
    ListedDocument,
    MadeImage,
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

    async def fetch(self, about: About, url: str) -> FetchedPage:
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
    """Prints what `outputs` has for a program, else nothing."""

    outputs: dict[str, CodeRun] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)

    async def run(self, about: About, code: str, *, language: Language) -> CodeRun:
        self.ran.append(code)
        return self.outputs.get(code, CodeRun(code=code, language=language, exit_code=0))

    async def read_file(self, about: About, path: str) -> FileText:
        if path not in self.files:
            raise ToolError(f"there is no file {path}. The files are: {', '.join(self.files) or 'none'}.")
        return FileText(path=path, text=self.files[path])

    async def write_file(self, about: About, path: str, text: str) -> StoredFile:
        self.files[path] = text
        return StoredFile(path=path, size_bytes=len(text.encode()))

    async def list_files(self, about: About, path: str) -> tuple[StoredFile, ...]:
        return tuple(StoredFile(path=name, size_bytes=len(text.encode())) for name, text in self.files.items())


@dataclass
class FakeMailbox:
    """`sent` and `drafts` are what arrived. `after_send` happens between a mail's arrival and the answer about it."""

    inbox: tuple[MailMessage, ...] = ()
    sent: list[OutgoingMail] = field(default_factory=list)
    drafts: list[OutgoingMail] = field(default_factory=list)
    searched: list[tuple[str, str, int]] = field(default_factory=list)
    can_tell: bool = True
    before_send: Happens = nothing
    after_send: Happens = nothing

    async def search(self, about: About, folder: Folder, query: str, *, limit: int) -> tuple[MailHeader, ...]:
        self.searched.append((folder, query, limit))
        heads = set(MailHeader.model_fields)
        return tuple(MailHeader.model_validate(mail.model_dump(include=heads)) for mail in self.inbox[:limit])

    async def read(self, about: About, message_id: str) -> MailMessage:
        for mail in self.inbox:
            if mail.id == message_id:
                return mail
        raise ToolError(f"there is no mail with the id {message_id}: search for it first.")

    async def save_draft(self, about: About, mail: OutgoingMail) -> StoredMail:
        self.drafts.append(mail)
        return StoredMail(id=f"draft-{len(self.drafts)}", message_id=mail.message_id, to=mail.to, subject=mail.subject)

    async def send(self, about: About, mail: OutgoingMail, *, touching: Happens = nothing) -> StoredMail:
        await self.before_send()
        await touching()
        self.sent.append(mail)
        await self.after_send()
        return StoredMail(id=f"sent-{len(self.sent)}", message_id=mail.message_id, to=mail.to, subject=mail.subject)

    async def holds(self, about: About, folder: Folder, message_id: str) -> bool | None:
        if not self.can_tell:
            return None
        return message_id in [mail.message_id for mail in (self.drafts if folder == "drafts" else self.sent)]


@dataclass
class FakeImages:
    made: list[str] = field(default_factory=list)

    async def make(self, about: About, prompt: str, *, shape: Literal["square", "portrait", "landscape"]) -> MadeImage:
        self.made.append(prompt)
        return MadeImage(path=f"images/{len(self.made)}.png", alt=prompt)

    async def look(self, about: About, image: str, question: str) -> ImageReading:
        return ImageReading(image=image, question=question, text="A red bicycle.")


@dataclass
class FakeWorkspace:
    files: dict[str, str] = field(default_factory=dict)

    async def list_files(self, about: About, *, scope: str, prefix: str) -> tuple[StoredFile, ...]:
        found = sorted(path for path in self.files if path.startswith(prefix))
        return tuple(StoredFile(path=path, size_bytes=len(self.files[path].encode())) for path in found)

    async def read_file(self, about: About, path: str, *, scope: str) -> FileText:
        if path not in self.files:
            raise ToolError(f"there is no file {path}.")
        return FileText(path=path, text=self.files[path])

    async def write_file(self, about: About, path: str, text: str, *, scope: str) -> StoredFile:
        self.files[path] = text
        return StoredFile(path=path, size_bytes=len(text.encode()))


def fake_providers(**others: Any) -> Providers:
    """All providers in memory; `others` take the place of single ones."""
    fakes: dict[str, Any] = {
        "web": FakeWeb(),
        "pages": FakePages(),
        "sandbox": FakeSandbox(),
        "mailbox": FakeMailbox(),
        "documents": FakeDocuments(),
        "images": FakeImages(),
        "workspace": FakeWorkspace(),
    }
    return Providers(**{**fakes, **others})


async def say_yes(context: AgentContext, request: Request) -> Refusal | None:
    return None


APPROVE_ALL = Checks(approvals=(say_yes,))
"""For tests of what comes after a person's yes."""
