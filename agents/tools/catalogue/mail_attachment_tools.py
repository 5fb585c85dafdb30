"""What is attached to mails: its text, and the file itself into the workspace."""

import asyncio
from typing import Annotated, Any

from django.utils.translation.trans_null import gettext_noop
from pydantic import Field

from agents.engine.events import Source
from agents.mail.attachment_text import text_of_attachment
from agents.mail.files import AttachedFile, safe_name
from agents.tools.catalogue.code_tools import updated
from agents.tools.catalogue.mail_tools import MAIL, Account, MessageId
from agents.tools.free_names import free_name, put_beside
from agents.tools.tool import Call, OwnFiles, Reply, Sends, ToolError, tool

EXCERPT_CHARS = 300
FOLDER = "mail"

Number = Annotated[int, "Which of its attachments, as read_message numbers them", Field(ge=1, le=500)]


@tool(
    label=gettext_noop("Read an attachment"),
    agents=MAIL,
    needs=("mailbox",),
    untrusted=True,
    timeout_s=120,
    sends=Sends.NOWHERE,
)
async def read_attachment(call: Call, message_id: MessageId, attachment: Number = 1, account: Account = "") -> Reply:
    """Reads the text of an attachment (PDF, Office, CSV, HTML, text). For the file itself: save_attachment."""
    file = await call.providers.mailbox.attachment(call.about, message_id, attachment, account=account)
    text = await asyncio.to_thread(text_of_attachment, file)
    name = safe_name(file.name)
    source = Source(type="mail", source=name, excerpt=text[:EXCERPT_CHARS] or None)
    data = {"action": "read", "attachment": {"name": name, "media_type": file.media_type, "text": text}}
    return Reply(content=f"{name}:\n\n{text}" if text else f"{name} has no text.", data=data, sources=(source,))


async def _is_saved(call: Call, *, message_id: str, attachment: int, path: str, account: str, **_: Any) -> bool | None:
    file = await call.providers.mailbox.attachment(call.about, message_id, attachment, account=account)
    workspace = call.providers.workspace
    try:
        saved_as = path or await free_name(workspace, call.about, _beside(file), file.content)
        return await workspace.read_bytes(call.about, saved_as) == file.content
    except ToolError:
        return False


def _replaced(arguments: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Without a path it takes the place of none."""
    return (("conversation", arguments["path"]),) if arguments["path"] else ()


@tool(
    label=gettext_noop("Save an attachment"),
    agents=MAIL,
    needs=("mailbox", "workspace"),
    effect="write",
    probe=_is_saved,
    timeout_s=120,
    untrusted=True,
    sends=Sends.NOWHERE,
    own_files=OwnFiles(replaces=_replaced),
)
async def save_attachment(
    call: Call,
    message_id: MessageId,
    attachment: Number = 1,
    path: Annotated[str, "Where to in the workspace; without it mail/ and its name", Field(max_length=500)] = "",
    account: Account = "",
) -> Reply:
    """Saves an attachment among the files of this conversation, for code and other agents to work with. Without a path
    it lies beside others of its name; what has the path that is given is replaced."""
    file = await call.providers.mailbox.attachment(call.about, message_id, attachment, account=account)
    workspace = call.providers.workspace
    if path:
        stored = await workspace.write_bytes(call.about, path, file.content, file.media_type, key=call.key)
    else:
        stored = await put_beside(workspace, call.about, _beside(file), file.content, file.media_type, key=call.key)
    call.emit(updated(stored))
    data = {"action": "save_attachment", "file": stored, "name": safe_name(file.name)}
    return Reply(content=f"{stored.path} was saved ({stored.size_bytes:,} bytes).", data=data)


def _beside(file: AttachedFile) -> str:
    """Strangers name what they attach, and many name it alike."""
    return f"{FOLDER}/{safe_name(file.name)}"
