"""The closed choices of documents and memories, and the legal moves of a document. Pure: no table, no clock."""

from enum import StrEnum
from typing import Final


class DocumentStatus(StrEnum):
    """`queued`: the file is kept, nobody has read it. `reading`: its pages are taken out. `indexing`: it is cut, and
    its words are counted. `embedding`: it is found by its words, and vectors are being made. `ready`: found by both.

    A document that failed or was cancelled is found by nothing, whatever had been read of it.
    """

    QUEUED = "queued"
    READING = "reading"
    INDEXING = "indexing"
    EMBEDDING = "embedding"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"


_S = DocumentStatus
MOVES: Final[dict[DocumentStatus, frozenset[DocumentStatus]]] = {
    _S.QUEUED: frozenset({_S.READING, _S.FAILED, _S.CANCELLED}),
    _S.READING: frozenset({_S.INDEXING, _S.FAILED, _S.CANCELLED}),
    _S.INDEXING: frozenset({_S.EMBEDDING, _S.FAILED, _S.CANCELLED}),
    _S.EMBEDDING: frozenset({_S.READY, _S.FAILED, _S.CANCELLED}),
    # Made anew: read again after a better parser, or embedded by another model.
    _S.READY: frozenset({_S.QUEUED, _S.EMBEDDING}),
    _S.FAILED: frozenset({_S.QUEUED}),
    _S.CANCELLED: frozenset({_S.QUEUED}),
}
SEARCHABLE: Final = (DocumentStatus.EMBEDDING, DocumentStatus.READY)
"""The only documents that a search looks at; part of the SQL in `memory.sight`."""
UNFINISHED: Final = (DocumentStatus.QUEUED, DocumentStatus.READING, DocumentStatus.INDEXING)
"""What a job has to be done for before any search finds them."""
AT_WORK: Final = (DocumentStatus.QUEUED, DocumentStatus.READING, DocumentStatus.INDEXING, DocumentStatus.EMBEDDING)


class Visibility(StrEnum):
    """Who may see a document besides its owner, and besides the members of the projects that it is in."""

    PRIVATE = "private"
    GROUPS = "groups"
    EVERYONE = "everyone"


class Origin(StrEnum):
    """How a document came."""

    UPLOAD = "upload"
    COMMAND = "command"
    SAMPLE = "sample"
    CONNECTOR = "connector"


class BlockKind(StrEnum):
    """What a stretch of a page is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    CODE = "code"


class WorkspaceScope(StrEnum):
    """Whose workspace files lie in."""

    USER = "user"
    PROJECT = "project"
    CONVERSATION = "conversation"


class ConnectorKind(StrEnum):
    FOLDER = "folder"
    PAGE = "page"
    SITEMAP = "sitemap"


class MemoryKind(StrEnum):
    FACT = "fact"
    PREFERENCE = "preference"
    EPISODE = "episode"
    PROCEDURE = "procedure"


class MemoryStatus(StrEnum):
    """`superseded`: another one contradicts it and is newer; kept as history. `quarantined`: it reads like an
    instruction, and waits for its owner; no prompt sees it. `forgotten`: its text is gone, the row says that it was.
    """

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    QUARANTINED = "quarantined"
    FORGOTTEN = "forgotten"


class ProfileField(StrEnum):
    """The fields of the profile (S155, S156). Only `recent_projects` holds several memories at a time."""

    USER_NAME = "user_name"
    COMPANY_NAME = "company_name"
    JOB_TITLE = "job_title"
    RECENT_PROJECTS = "recent_projects"
    TONE = "tone"
    DETAIL_LEVEL = "detail_level"
    LANGUAGE = "language"
