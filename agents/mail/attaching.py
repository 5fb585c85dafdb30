"""Files of the workspace that go along with a mail: exactly those that a person was shown."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from agents.craft.exchange import Value
from agents.mail.files import MOST_BYTES, AttachedFile, safe_name
from agents.tools.tool import Call, ToolError
from memory.workspaces.paths import media_type_of

OTHER_FILE: Final = (
    "The file {path} is not the one that was agreed to: somebody changed it since. Nothing was sent. Call it again to "
    "ask about the file as it is now."
)


class Attachment(Value):
    """A file of the workspace. Its size and hash are filled in before anybody is asked."""

    path: Annotated[str, Field(min_length=1, max_length=500, description="As list_files gives it")]
    scope: Literal["conversation", "project", "user"] = "conversation"
    size_bytes: Annotated[int, Field(ge=0, description="Filled in by itself")] = 0
    sha256: Annotated[str, Field(max_length=64, description="Filled in by itself")] = ""


async def looked_at(call: Call, attachments: Sequence[Attachment]) -> list[Attachment]:
    """With the size and hash that each file has now. Raises ToolError for what is not there, or is too much."""
    found = []
    for one in attachments:
        file = await _read(call, one)
        found.append(one.model_copy(update={"size_bytes": len(file.content), "sha256": file.sha256}))
    _refuse_too_much(sum(one.size_bytes for one in found))
    return found


async def files_of(call: Call, attachments: Sequence[Attachment]) -> list[AttachedFile]:
    """The files themselves. Raises ToolError where one is another than it was when people were asked."""
    files = []
    for one in attachments:
        file = await _read(call, one)
        if file.sha256 != one.sha256:
            raise ToolError(OTHER_FILE.format(path=one.path))
        files.append(file)
    _refuse_too_much(sum(len(file.content) for file in files))
    return files


async def _read(call: Call, attachment: Attachment) -> AttachedFile:
    content = await call.providers.workspace.read_bytes(call.about, attachment.path, scope=attachment.scope)
    return AttachedFile(safe_name(attachment.path), media_type_of(attachment.path), content)


def _refuse_too_much(size_bytes: int) -> None:
    if size_bytes > MOST_BYTES:
        has = f"The files have {size_bytes:,} bytes together, and a mail takes {MOST_BYTES:,}."
        raise ToolError(f"{has} Send fewer, or smaller ones.")
