"""Documents and files of other scopes as the files that they are, put where programs find them (S81)."""

import unicodedata
from typing import Annotated, Any, Final, Literal

from django.utils.translation.trans_null import gettext_noop

from agents.sandbox.base import HOME
from agents.tools.catalogue.code_tools import updated
from agents.tools.catalogue.workspace_tools import FilePath
from agents.tools.free_names import put_beside
from agents.tools.tool import Call, OwnFiles, Reply, tool
from hyperagent.lib.file_names import fitted
from hyperagent.lib.text import clean_text

PROGRAMMERS: Final = ("code", "data", "chat")
TOLD_CHARS: Final = 40_000
_TEXTS: Final = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".md", ".xml", ".yaml", ".yml", ".log", ".html")


@tool(
    label=gettext_noop("Give a document to programs"),
    agents=PROGRAMMERS,
    needs=("documents", "workspace"),
    untrusted=True,
)
async def use_document(
    call: Call,
    document_id: Annotated[str, "The document's id, as it was attached or as list_documents gives it"],
) -> Reply:
    """Puts the original file of a document (CSV, Excel, JSON and so on) among the files of the conversation, where
    programs in the sandbox find it by the name that is told: another than its own where a file has that already. To
    read what a document says: read_document."""
    found = await call.providers.documents.original(call.about, document_id)
    name = file_name(found.filename)
    stored = await put_beside(call.providers.workspace, call.about, name, found.content, by=call.agent_name)
    told = f"{stored.path} lies in the working folder ({stored.size_bytes:,} bytes)."
    is_renamed = stored.path != name
    if is_renamed:
        told = f"{told} Another file {name} lay there already and stays as it was."
    return Reply(
        content=told,
        data={
            "path": stored.path,
            "size_bytes": stored.size_bytes,
            "text": beginning(found.filename, found.content),
            **({"instead_of": name} if is_renamed else {}),
        },
    )


async def _was_copied(call: Call, path: str, **_: Any) -> bool | None:
    return await call.providers.workspace.was_written(call.about, path, call.key, scope="conversation")


def _copy(arguments: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return (("conversation", arguments["path"]),)


@tool(
    label=gettext_noop("Give a file to programs"),
    agents=PROGRAMMERS,
    needs=("workspace",),
    effect="write",
    probe=_was_copied,
    own_files=OwnFiles(replaces=_copy),
)
async def use_file(
    call: Call,
    path: FilePath,
    scope: Annotated[Literal["project", "user"], "Whose file it is: of the conversation's project, of the user"],
) -> Reply:
    """Copies a file of the user or of the project, as it is, among the files of the conversation: programs in the
    sandbox and skills find only those. A document: use_document. To read a text: read_file."""
    content = await call.providers.workspace.read_bytes(call.about, path, scope=scope)
    stored = await call.providers.workspace.write_bytes(
        call.about, path, content, scope="conversation", by=call.agent_name, key=call.key
    )
    call.emit(updated(stored))
    return Reply(
        content=f"{stored.path} lies in the working folder, {HOME} ({stored.size_bytes:,} bytes).",
        data={"path": stored.path, "size_bytes": stored.size_bytes},
    )


def file_name(filename: str) -> str:
    """The last part of a document's name, as a file in a folder may be called."""
    last = unicodedata.normalize("NFC", clean_text(filename)).replace("\\", "/").rsplit("/", 1)[-1]
    seen = "".join(sign for sign in last if sign.isprintable()).strip().lstrip(".")
    return fitted(seen) or "document"


def beginning(filename: str, content: bytes) -> str:
    """The first lines of a text; empty for anything else."""
    if not filename.lower().endswith(_TEXTS) or b"\0" in content[:8_192]:
        return ""
    head = content[: 4 * TOLD_CHARS]
    try:
        text = head.decode("utf-8-sig", errors="strict" if len(head) == len(content) else "ignore")
    except UnicodeDecodeError:
        text = head.decode("cp1252", errors="replace")
    text = clean_text(text)
    return text if len(text) <= TOLD_CHARS else text[:TOLD_CHARS].rpartition("\n")[0]
