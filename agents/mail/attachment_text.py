"""The text of an attachment, read by the reader that is shut in a process of its own. Blocking; for a thread."""

import tempfile
from pathlib import Path
from typing import Final

from agents.mail.files import AttachedFile
from agents.tools.tool import ToolError
from memory.reading import kinds
from memory.reading.process import read
from memory.reading.values import Unreadable
from memory.values import Page

TEXT_CHARS: Final = 60_000
CLIPPED: Final = "(The rest is not shown: save the attachment to work with all of it.)"


def text_of_attachment(file: AttachedFile) -> str:
    """Raises ToolError for what cannot be read."""
    with tempfile.TemporaryDirectory(prefix="hyperagent-attachment-") as folder:
        path = Path(folder) / "file"
        path.write_bytes(file.content)
        try:
            doc_type = kinds.doc_type_of(file.content[: kinds.HEAD_BYTES], file.name)
            return _text(path, doc_type, file.name)
        except Unreadable as error:
            # Without its name, which a stranger chose: what fails is told as words of ours.
            raise ToolError(f"This attachment cannot be read as text: {error.message}") from None


def _text(path: Path, doc_type: str, name: str) -> str:
    pages: list[str] = []
    chars = 0
    with read(path, doc_type=doc_type, filename=name, is_awaited=True) as reading:
        for found in reading:
            if isinstance(found, Page):
                pages.append(found.text)
                chars += len(found.text)
            if chars > TEXT_CHARS:
                return "\n\n".join(pages)[:TEXT_CHARS] + f"\n\n{CLIPPED}"
    return "\n\n".join(pages)
