"""The documents that the first administrator finds: three short ones, made up, to try things out on."""

from pathlib import Path
from typing import Final

from hyperagent.accounts.models import User
from memory.actions import documents
from memory.kinds import Origin
from memory.models import Document

FOLDER: Final = Path(__file__).parent / "sample_documents"


def make_sample_documents(user: User) -> list[Document]:
    """Once for each person: nothing for whoever has one of them already. They are read as soon as a worker runs."""
    if Document.objects.of(user).filter(origin=Origin.SAMPLE).exists():
        return []
    made = []
    for path in sorted(FOLDER.glob("*.md")):
        with path.open("rb") as file:
            made.append(documents.add(user, file, filename=path.name, origin=Origin.SAMPLE)[0])
    return made
