"""The files of whoever asks, for tools: those of the run's conversation, of its project, and their own (S81).

Who may see which file is decided in `memory`, never here: every call carries the user's id.
"""

from collections.abc import Callable, Sequence
from typing import Final, ParamSpec, TypeVar
from uuid import UUID

from agents.runtime.driven import About
from agents.sandbox.base import HOME
from agents.tools.providers import FileChanged
from agents.tools.replacing import with_passage
from agents.tools.tool import ToolError
from agents.tools.values import FileText, StoredFile
from hyperagent.lib.refusals import NotThere, Refused
from hyperagent.lib.text import clean_text
from hyperagent.lib.threads import in_thread
from memory.workspaces import files
from memory.workspaces.files import Changed, FileFacts
from memory.workspaces.places import Place, Scope, talks
from memory.workspaces.texts import text_in

P = ParamSpec("P")
R = TypeVar("R")

NO_CONVERSATION: Final = "This run belongs to no conversation, so it has no files of one. Use the scope 'user'."
NO_PROJECT: Final = "This conversation is in no project, so there are no files of one. Use the scope 'conversation'."
READ_BYTES: Final = 4_000_000
"""Of what is read as a text; larger ones are for code."""
_TRIES: Final = 3


class OwnFiles:
    """The provider `Workspace`. There in every installation."""

    async def list_files(
        self, about: About, *, scope: str = "conversation", prefix: str = ""
    ) -> tuple[StoredFile, ...]:
        return await in_thread(_told)(_listed, about, scope, prefix)

    async def standing(self, about: About, path: str, *, scope: str = "conversation") -> StoredFile | None:
        return await in_thread(_told)(_standing, about, scope, path)

    async def read_file(self, about: About, path: str, *, scope: str = "conversation") -> FileText:
        return await in_thread(_told)(_read_text, about, scope, path)

    async def write_file(
        self, about: About, path: str, text: str, *, scope: str = "conversation", by: str = "", key: str = ""
    ) -> StoredFile:
        return await in_thread(_told)(_written, about, scope, path, clean_text(text).encode(), by=by, key=key)

    async def edit_file(
        self, about: About, path: str, old: str, new: str, *, scope: str = "conversation", by: str = "", key: str = ""
    ) -> StoredFile:
        return await in_thread(_told)(_edited, about, scope, path, old=old, new=new, by=by, key=key)

    async def delete_file(
        self, about: About, path: str, *, scope: str = "conversation", only: StoredFile | None = None
    ) -> StoredFile:
        return await in_thread(_told)(_deleted, about, scope, path, only)

    async def was_written(self, about: About, path: str, key: str, *, scope: str = "conversation") -> bool:
        return await in_thread(_told)(_was_written, about, scope, path, key)

    async def stood_before(
        self, about: About, path: str, *, scope: str = "conversation", runs: Sequence[UUID] = ()
    ) -> bool:
        return await in_thread(_told)(_stood_before, about, scope, path, runs)

    async def read_bytes(self, about: About, path: str, *, scope: str = "conversation") -> bytes:
        return await in_thread(_told)(_read_bytes, about, scope, path)

    async def write_bytes(
        self,
        about: About,
        path: str,
        content: bytes,
        media_type: str = "",
        *,
        scope: str = "conversation",
        by: str = "",
        key: str = "",
        expected: str | None = None,
    ) -> StoredFile:
        return await in_thread(_told)(
            _written, about, scope, path, content, media_type=media_type, by=by, key=key, expected=expected
        )


def place_of(about: About, scope: str) -> Place:
    """In a thread: it may ask the database. Raises ToolError for a run that has no such place."""
    user_id = asker(about)
    match Scope(scope):
        case Scope.USER:
            return Place(Scope.USER, user_id)
        case Scope.CONVERSATION:
            if about.conversation_id is None:
                raise ToolError(NO_CONVERSATION)
            return Place(Scope.CONVERSATION, about.conversation_id)
        case Scope.PROJECT:
            seen = talks(user_id, [about.conversation_id]) if about.conversation_id else {}
            project_id = next((talk.project_id for talk in seen.values()), None)
            if project_id is None:
                raise ToolError(NO_PROJECT)
            return Place(Scope.PROJECT, project_id)


def asker(about: About) -> UUID:
    if about.user_id is None:
        raise ToolError("This run belongs to nobody, so it has no files.")
    return about.user_id


def within(path: str) -> str:
    """A path as the workspace has it: programs in the sandbox see the workspace's files in their home folder."""
    return path.removeprefix(f"{HOME}/").removeprefix("~/").removeprefix("./")


# --- in threads


def _told(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What is refused, in words for a model."""
    try:
        return function(*args, **kwargs)
    except Changed as changed:
        raise FileChanged(changed.message) from None
    except Refused as refusal:
        raise ToolError(refusal.message) from None


def _listed(about: About, scope: str, prefix: str) -> tuple[StoredFile, ...]:
    place = place_of(about, scope)
    return tuple(_stored(place, facts) for facts in files.listed(asker(about), place, within(prefix)))


def _standing(about: About, scope: str, path: str) -> StoredFile | None:
    place = place_of(about, scope)
    try:
        facts, _ = files.found(asker(about), place, within(path))
    except NotThere:
        return None
    return _stored(place, facts)


def _read_bytes(about: About, scope: str, path: str) -> bytes:
    return _found(about, place_of(about, scope), path)[1]


def _read_text(about: About, scope: str, path: str) -> FileText:
    place = place_of(about, scope)
    facts, content = _found(about, place, path, most_bytes=READ_BYTES)
    text = text_in(content)
    if text is None:
        raise ToolError(
            f"{facts.path} is no text but {facts.media_type} of {facts.size_bytes:,} bytes. Read it by code, or look "
            f"at it with a tool for such files.{_way_to_code(place.scope)}"
        )
    return FileText(path=facts.path, text=clean_text(text))


def _way_to_code(scope: Scope) -> str:
    """Programs find the conversation's files only."""
    found = scope is Scope.CONVERSATION
    return "" if found else f" For code, use_file with scope {scope.value} copies it into the conversation."


def _found(about: About, place: Place, path: str, *, most_bytes: int | None = None) -> tuple[FileFacts, bytes]:
    try:
        facts, content = files.opened(asker(about), place, within(path))
    except NotThere:
        shown = clean_text(path)[:80]
        raise ToolError(f"There is no file {shown} in this workspace. Take a path as list_files gives it.") from None
    with content:
        if most_bytes is not None and facts.size_bytes > most_bytes:
            raise ToolError(
                f"{facts.path} has {facts.size_bytes:,} bytes, which is more than can be read at once. Read it by code."
                f"{_way_to_code(place.scope)}"
            )
        return facts, content.read()


def _written(
    about: About,
    scope: str,
    path: str,
    content: bytes,
    *,
    media_type: str = "",
    by: str,
    key: str,
    expected: str | None = None,
) -> StoredFile:
    place = place_of(about, scope)
    facts = files.write(
        asker(about),
        place,
        within(path),
        content,
        media_type=media_type,
        by=by,
        execution_id=about.execution_id,
        effect_key=key,
        expected=expected,
    )
    return _stored(place, facts)


def _edited(about: About, scope: str, path: str, *, old: str, new: str, by: str, key: str) -> StoredFile:
    """Tried again where somebody else writes the same file at this instant."""
    place = place_of(about, scope)
    for _ in range(_TRIES):
        facts, content = _found(about, place, path, most_bytes=READ_BYTES)
        try:
            changed = files.write(
                asker(about),
                place,
                facts.path,
                replaced(content, clean_text(old), clean_text(new), path=facts.path),
                by=by,
                execution_id=about.execution_id,
                expected=files.mark_of(facts),
                effect_key=key,
            )
        except Changed:
            continue
        return _stored(place, changed)
    raise ToolError(f"{clean_text(path)[:80]} is being changed by somebody else just now. Read it again.")


def replaced(content: bytes, old: str, new: str, *, path: str) -> bytes:
    """The file with `old`, which stands in it exactly once, replaced by `new`. Raises ToolError."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ToolError(f"{path} is no text in UTF-8, so it cannot be edited. Write it anew.") from None
    changed, times = with_passage(text, old, new)
    if times == 0:
        raise ToolError(f"The text to replace does not stand in {path}. Read it again, and give it letter by letter.")
    if times > 1:
        raise ToolError(f"The text to replace stands in {path} {times} times. Give more of what is around the one.")
    return changed.encode()


def _deleted(about: About, scope: str, path: str, only: StoredFile | None) -> StoredFile:
    place = place_of(about, scope)
    facts, content = files.opened(asker(about), place, within(path))
    content.close()
    if only is not None and (facts.version, facts.sha256) != (only.version, only.sha256):
        raise Changed(facts.version)
    files.delete(asker(about), place, facts.path, expected=None if only is None else files.mark_of(facts))
    return _stored(place, facts)


def _was_written(about: About, scope: str, path: str, key: str) -> bool:
    return files.was_written(asker(about), place_of(about, scope), within(path), key)


def _stood_before(about: About, scope: str, path: str, runs: Sequence[UUID]) -> bool:
    return files.stands_by_others(asker(about), place_of(about, scope), within(path), runs)


def _stored(place: Place, facts: FileFacts) -> StoredFile:
    return StoredFile(
        path=facts.path,
        size_bytes=facts.size_bytes,
        media_type=facts.media_type,
        version=facts.version,
        scope_id=str(place.scope_id),
        sha256=facts.sha256,
    )
