"""The documents that the first administrator finds: three short ones, made up, to try things out on."""

import hashlib
from pathlib import Path

from hyperagent.accounts.models import User
from memory.kinds import Origin
from memory.models import Document

FOLDER = Path(__file__).parent / "sample_documents"


def make_sample_documents(user: User) -> list[Document]:
    """Once for each person: nothing for whoever has one of them already. Gives those that were made."""
    if Document.objects.filter(owner=user, origin=Origin.SAMPLE).exists():
        return []
    made = [_read(path, user) for path in sorted(FOLDER.glob("*.md"))]
    return Document.objects.bulk_create(made, ignore_conflicts=True)


def _read(path: Path, owner: User) -> Document:
    text = path.read_text(encoding="utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    return Document(
        owner=owner, filename=path.name, doc_type="md", title=title, origin=Origin.SAMPLE,
        sha256=hashlib.sha256(text.encode()).hexdigest(), size_bytes=len(text.encode()),
    )  # fmt: skip
