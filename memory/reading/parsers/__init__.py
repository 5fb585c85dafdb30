"""The readers of file formats, one module each, which runs in the child process only.

A module has `parts(path, *, filename) -> Iterator[Head | Part]` (see `memory.reading.paging`), or, if the format has
pages of its own, `pages(path, *, filename, first_page, silent) -> Iterator[Head | Page | Tail]`.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from memory.reading.paging import paged
from memory.reading.values import Head, Tail, Unreadable
from memory.values import Page

_MODULES: Final = {
    "pdf": "pdf", "docx": "docx", "xlsx": "workbook", "xls": "workbook", "ods": "workbook", "csv": "csv",
    "pptx": "pptx", "html": "html", "eml": "mail", "md": "markdown", "txt": "text",
}  # fmt: skip


def parse(
    path: Path, *, doc_type: str, filename: str, first_page: int, silent: Sequence[int] = ()
) -> Iterator[Head | Page | Tail]:
    """A Head, the pages from `first_page` on or from an earlier one, a Tail. Raises Unreadable. `silent`: the pages
    before `first_page` that had no text."""
    if doc_type not in _MODULES:
        raise Unreadable("not_supported", f"Files of the kind “{doc_type}” are not read.")
    module = import_module(f"{__name__}.{_MODULES[doc_type]}")
    if hasattr(module, "pages"):
        yield from module.pages(path, filename=filename, first_page=first_page, silent=silent)
    else:
        yield from paged(module.parts(path, filename=filename))
