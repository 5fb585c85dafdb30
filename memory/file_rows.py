"""How files of workspaces stand on pages for people: a row of a list, the way to a folder, in words. Pure: no query.
Whatever comes from people is plain text here and escaped by the template."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final

from memory.models import WorkspaceFile
from memory.rows import size_words
from memory.workspaces.places import Place, file_url, page_url

KIND_CHARS: Final = 4
# By what a picture of the kind is coloured: the classes of documents.
_TONES: Final = {
    "image": ("png", "jpg", "jpeg", "gif", "webp", "svg", "bmp"),
    "html": ("py", "js", "mjs", "ts", "sh", "sql", "html", "htm", "css", "json", "yaml", "yml", "toml", "xml", "ipynb"),
    "csv": ("csv", "tsv", "xlsx", "xls", "ods", "parquet"),
    "pptx": ("pptx", "odp"),
    "docx": ("docx", "odt", "eml", "md", "txt"),
    "pdf": ("pdf",),
}


@dataclass(frozen=True, slots=True)
class FileRow:
    """`kind`: a short word that a picture of it carries. `folder`: ends with a slash, or is empty."""

    path: str
    name: str
    folder: str
    kind: str
    tone: str
    size: str
    changed_at: datetime
    deleted_at: datetime | None
    version: int
    page: str
    url: str
    may_delete: bool


@dataclass(frozen=True, slots=True)
class Crumb:
    """A folder on the way."""

    name: str
    page: str


def row_of(place: Place, file: WorkspaceFile, *, may_delete: bool) -> FileRow:
    folder, _, name = file.path.rpartition("/")
    ending = PurePosixPath(name).suffix.lower().removeprefix(".")
    return FileRow(
        path=file.path,
        name=name,
        folder=f"{folder}/" if folder else "",
        kind=ending[:KIND_CHARS] or "file",
        tone=next((tone for tone, endings in _TONES.items() if ending in endings), "file"),
        size=size_words(file.size_bytes),
        changed_at=file.changed_at,
        deleted_at=file.deleted_at,
        version=file.version,
        page=page_url(place, file.path),
        url=file_url(place, file.path),
        may_delete=may_delete,
    )


def crumbs_of(place: Place, path: str) -> list[Crumb]:
    """The folders above a path, the outermost first. `path`: of a file, or of a folder with its slash, which is left
    out."""
    parts = path.rstrip("/").split("/")[:-1]
    return [Crumb(part, page_url(place, "/".join(parts[: number + 1]) + "/")) for number, part in enumerate(parts)]
