"""Documents as the files that they are, put where programs find them."""

from typing import Annotated, Final

from agents.tools.tool import Call, Reply, tool
from hyperagent.lib.text import clean_text

PROGRAMMERS: Final = ("code", "data", "chat")
TOLD_CHARS: Final = 40_000
_TEXTS: Final = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".md", ".xml", ".yaml", ".yml", ".log", ".html")


@tool(agents=PROGRAMMERS, needs=("documents", "workspace"), untrusted=True)
async def use_document(
    call: Call,
    document_id: Annotated[str, "The document's id, as it was attached or as list_documents gives it"],
) -> Reply:
    """Puts the original file of a document (CSV, Excel, JSON and so on) among the files of the conversation, where
    programs in the sandbox find it by its name. To read what a document says: read_document."""
    found = await call.providers.documents.original(call.about, document_id)
    stored = await call.providers.workspace.write_bytes(
        call.about, file_name(found.filename), found.content, by=call.agent_name
    )
    told = f"{stored.path} lies in the working folder ({stored.size_bytes:,} bytes)."
    return Reply(
        content=told,
        data={
            "path": stored.path,
            "size_bytes": stored.size_bytes,
            "text": beginning(found.filename, found.content),
        },
    )


def file_name(filename: str) -> str:
    """The last part of a document's name, as a file in a folder may be called."""
    last = clean_text(filename).replace("\\", "/").rsplit("/", 1)[-1]
    seen = "".join(sign for sign in last if sign.isprintable()).strip().lstrip(".")
    return seen[-120:].strip() or "document"


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
