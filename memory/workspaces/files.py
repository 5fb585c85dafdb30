"""Everything that is done with files of workspaces: page, API, agents and the sandbox call these verbs.

Bytes are stored first, under a name of their own; then one transaction, which holds the lock of whom they belong to,
makes the rows. Whoever dies in between leaves bytes without a row, which the sweep finds, and never the reverse.
"""

import hashlib
import io
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Final
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from hyperagent.accounts.metering import take
from hyperagent.accounts.models import User
from hyperagent.accounts.quotas import Work
from hyperagent.lib.languages import grouped
from hyperagent.lib.outage import or_undo
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere, Refused
from hyperagent.lib.text import clean_text
from memory.ingestion import files as storage
from memory.ingestion.files import NoRoom, TooBig
from memory.models import FileVersion, WorkspaceFile
from memory.workspaces import keeping
from memory.workspaces.keeping import KEPT_VERSIONS, QuotaUsedUp, check_size
from memory.workspaces.paths import clean_path, media_type_of
from memory.workspaces.places import Holder, Place, Rights, Scope, file_url, page_url, rights

__all__ = [
    "KEPT_VERSIONS",
    "NONE",
    "Changed",
    "FileFacts",
    "NoRoom",
    "Place",
    "QuotaUsedUp",
    "Scope",
    "TooBig",
    "VersionFacts",
    "check_size",
    "delete",
    "file_url",
    "listed",
    "mark_of",
    "move",
    "opened",
    "page_url",
    "put",
    "read",
    "restore",
    "versions",
    "write",
]

MOST_FILES: Final = 10_000
"""Of one person or project, with those in the bin."""
NONE: Final = ""
"""The mark where there is no file."""


class Changed(Refused):
    """Whoever writes had read another version. `version`: the one that stands there now, 0 for none."""

    status = 412

    def __init__(self, version: int) -> None:
        there = _("The file has changed meanwhile: version {version} of it is there. Read it again.")
        gone = _("The file has changed meanwhile: it is not there. Read it again.")
        super().__init__("changed", there.format(version=version) if version else gone, version=version)
        self.version = version


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A file as it stands, or as it was in that version. `version`: from 1. `sha256`: in hexadecimal digits."""

    path: str
    size_bytes: int
    media_type: str
    version: int
    sha256: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """`by`: the agent or program that wrote it, empty for the person; `written_by`: the person, or whose run it was,
    empty if they are gone."""

    number: int
    size_bytes: int
    media_type: str
    sha256: str
    by: str
    by_execution: UUID | None
    written_by: str
    written_at: datetime


def mark_of(file: FileFacts | WorkspaceFile) -> str:
    """What is another one whenever something else stands there. The number alone is not: the first file of a path and
    one that takes its name when it is gone both begin at 1."""
    return f"{file.version}-{file.sha256}"


def _is_meant(expected: str | None, file: WorkspaceFile | None) -> bool:
    """`expected`: of a caller who knows the number of the version only, that alone counts."""
    if file is None:
        return expected in (None, NONE)
    return expected in (None, mark_of(file), str(file.version))


# --- reading


def listed(user_id: UUID, place: Place, prefix: str = "") -> list[FileFacts]:
    """The files whose path begins with `prefix`, by their paths. Two queries."""
    rights(user_id, place)
    return [_facts(file) for file in standing(place, prefix).order_by("path")]


def standing(place: Place, prefix: str = "") -> "QuerySet[WorkspaceFile]":
    """For callers that have asked for the rights."""
    there = WorkspaceFile.objects.at(place.scope, place.scope_id).standing()
    return there.filter(path__startswith=unicodedata.normalize("NFC", clean_text(prefix)))


def stands_by_others(user_id: UUID, place: Place, path: str, runs: Sequence[UUID]) -> bool:
    """Whether a file is there whose present version none of these runs wrote. A path that ends with a slash: any file
    below it. Two queries."""
    rights(user_id, place)
    there = standing(place, path) if path.endswith("/") else standing(place).filter(path=clean_path(path))
    theirs = FileVersion.objects.filter(file=OuterRef("pk"), number=OuterRef("version"), by_execution__in=list(runs))
    return there.filter(~Exists(theirs)).exists()


def read(user_id: UUID, place: Place, path: str, *, version: int | None = None) -> tuple[FileFacts, bytes]:
    """The file as it stands, or an older version. Raises NotThere."""
    facts, content = opened(user_id, place, path, version=version)
    with content:
        return facts, content.read()


def opened(user_id: UUID, place: Place, path: str, *, version: int | None = None) -> tuple[FileFacts, IO[bytes]]:
    """The same as a stream, which the caller closes. Raises NotThere."""
    facts, stored_as = found(user_id, place, path, version=version)
    try:
        return facts, storage.open_file(stored_as)
    except FileNotFoundError:
        raise NotThere from None


def found(user_id: UUID, place: Place, path: str, *, version: int | None = None) -> tuple[FileFacts, str]:
    """The file, or an older version of it, and under which name its bytes are stored. Raises NotThere. Three
    queries."""
    rights(user_id, place)
    file = _file(place, path)
    if file is None or (version is None and file.deleted_at is not None):
        raise NotThere
    row = file.versions.select_related("bytes").filter(number=file.version if version is None else version).first()
    if row is None:
        raise NotThere
    facts = FileFacts(file.path, row.bytes.size_bytes, row.media_type, row.number, row.bytes.sha256, row.written_at)
    return facts, row.bytes.stored_as


def versions(user_id: UUID, place: Place, path: str) -> list[VersionFacts]:
    """Newest first, the one that stands there included; also of a file in the bin. Raises NotThere."""
    rights(user_id, place)
    file = _file(place, path)
    if file is None:
        raise NotThere
    found = file.versions.select_related("bytes", "written_by").order_by("-number")
    return [
        VersionFacts(
            number=row.number,
            size_bytes=row.bytes.size_bytes,
            media_type=row.media_type,
            sha256=row.bytes.sha256,
            by=row.by,
            by_execution=row.by_execution,
            written_by=(row.written_by.display_name or row.written_by.email) if row.written_by else "",
            written_at=row.written_at,
        )
        for row in found
    ]


# --- changing


def write(
    user_id: UUID,
    place: Place,
    path: str,
    content: bytes,
    *,
    media_type: str = "",
    by: str = "",
    execution_id: UUID | None = None,
    effect_key: str = "",
    expected: str | None = None,
) -> FileFacts:
    """Makes these bytes what stands there; the older is a version. The same bytes again change nothing.

    `media_type`: where the name's ending does not tell. `by`, `execution_id`, `effect_key`: which agent or program
    writes it, in which run, by which call (`was_written`). `expected`: the mark of what was read, NONE if there was to
    be none. Raises Changed, NotThere, NotAllowed, TooBig, QuotaUsedUp, NoRoom, Conflict, BadPath; then nothing changed.
    """
    may = _writer(user_id, place)
    file = _file(place, path)
    if file is not None and file.deleted_at is None and file.sha256 == hashlib.sha256(content).hexdigest():
        if not _is_meant(expected, file):
            raise Changed(file.version)
        return _facts(file)
    writer = keeping.Writer(user_id, by, execution_id, effect_key)
    return _put(may, writer, place, path, io.BytesIO(content), media_type=media_type, expected=expected)[0]


def put(
    user_id: UUID,
    place: Place,
    path: str,
    content: IO[bytes],
    *,
    size_bytes: int = 0,
    media_type: str = "",
    expected: str | None = None,
) -> tuple[FileFacts, bool]:
    """The same by the person themselves from a stream, which is never whole in memory; and whether no file stood there
    before. Raises TooMuch as well.

    `size_bytes`: as it was announced; where it was not, it counts as the largest that there may be.
    """
    may = _writer(user_id, place)
    take(user_id, Work.UPLOAD, 1, size_bytes or settings.CONFIG.workspace_file_max_bytes)
    return _put(may, keeping.Writer(user_id), place, path, content, media_type=media_type, expected=expected)


def was_written(user_id: UUID, place: Place, path: str, effect_key: str) -> bool:
    """Whether the call with this key has written a version of the file."""
    rights(user_id, place)
    file = _file(place, path)
    return file is not None and file.versions.filter(effect_key=effect_key).exists()


def delete(user_id: UUID, place: Place, path: str, *, expected: str | None = None) -> None:
    """Puts it into the bin, from where `restore` takes it for some days. Raises NotThere, NotAllowed, Changed."""
    may = _writer(user_id, place)
    with transaction.atomic():
        keeping.lock(may.holder)
        file = _standing(place, path)
        _check_owner(may, file, user_id)
        if not _is_meant(expected, file):
            raise Changed(file.version)
        file.deleted_at = timezone.now()
        file.save(update_fields=["deleted_at"])


def restore(user_id: UUID, place: Place, path: str, version: int) -> FileFacts:
    """What it was becomes what it is, as a new version; a file in the bin stands there again."""
    may = _writer(user_id, place)
    with transaction.atomic():
        keeping.lock(may.holder)
        file = _file(place, path)
        found = file.versions.select_related("bytes").filter(number=version).first() if file else None
        if file is None or found is None:
            raise NotThere
        if file.deleted_at is not None:
            _check_free(place, file.path)
            file.deleted_at = None
            file.save(update_fields=["deleted_at"])
        if found.number != file.version:
            keeping.stand(file, found.bytes, keeping.Writer(user_id), media_type=found.media_type)
    return _facts(file)


def move(user_id: UUID, place: Place, path: str, to: str) -> FileFacts:
    """Gives it another path in the same place, with its versions. Raises Conflict if something stands there; what lies
    there in the bin becomes its oldest versions."""
    may = _writer(user_id, place)
    target = clean_path(to)
    with transaction.atomic():
        keeping.lock(may.holder)
        file = _standing(place, path)
        _check_owner(may, file, user_id)
        if target == file.path:
            return _facts(file)
        there = _file(place, target)
        if there is not None and there.deleted_at is None:
            raise Conflict(
                "already_there", _("There is a file '{target}' already. Choose another name.").format(target=target)
            )
        _check_free(place, target, leaving=file)
        if there is not None:
            keeping.take_over(file, there)
        file.path, file.media_type = target, media_type_of(target)
        file.save(update_fields=["path", "media_type", "version"])
        file.versions.filter(number=file.version).update(media_type=file.media_type)
    return _facts(file)


def forget(place: Place) -> int:
    """Deletes everything of a place that is no more, past any bin. Asks nobody. How many files it had."""
    gone = 0
    for holder, files in _by_holder(WorkspaceFile.objects.at(place.scope, place.scope_id)):
        with transaction.atomic():
            keeping.lock(holder)
            keeping.purge(files)
        gone += len(files)
    return gone


def empty_bin(before: datetime) -> int:
    """Deletes for good what was deleted before then. How many files."""
    gone = 0
    for holder, files in _by_holder(WorkspaceFile.objects.filter(deleted_at__lt=before)):
        with transaction.atomic():
            keeping.lock(holder)
            # Looked at again under the lock: one may have been restored meanwhile.
            still = list(WorkspaceFile.objects.filter(pk__in=[file.pk for file in files], deleted_at__lt=before))
            keeping.purge(still)
        gone += len(still)
    return gone


# --- within


def _put(
    may: Rights,
    writer: keeping.Writer,
    place: Place,
    path: str,
    content: IO[bytes],
    *,
    media_type: str,
    expected: str | None,
) -> tuple[FileFacts, bool]:
    path = clean_path(path)
    kept = keeping.stored(may.holder, content)
    try:
        with or_undo(lambda: storage.remove(kept.stored_as)), transaction.atomic():
            User.objects.hold(writer.user_id)
            keeping.lock(may.holder)
            file = _file(place, path)
            current = file if file is not None and file.deleted_at is None else None
            if not _is_meant(expected, current):
                raise Changed(0 if current is None else current.version)
            if current is None:
                _check_free(place, path)
                if file is not None:
                    # Another file that takes the place of one in the bin.
                    file.made_by_id = writer.user_id
            if file is None:
                _check_number(may.holder)
                file = WorkspaceFile(
                    scope=place.scope,
                    scope_id=place.scope_id,
                    path=path,
                    made_by_id=writer.user_id,
                    **may.holder.fields,
                )
            bytes_ = keeping.bytes_of(may.holder, kept, file)
            if current is None or file.sha256 != kept.sha256:
                keeping.stand(file, bytes_, writer, media_type=media_type_of(path, media_type))
    except IntegrityError:
        # Whom it belongs to was deleted at this instant.
        raise NotThere from None
    if bytes_.stored_as != kept.stored_as:
        # The second copy of the bytes.
        storage.remove(kept.stored_as)
    return _facts(file), current is None


def _writer(user_id: UUID, place: Place) -> Rights:
    may = rights(user_id, place)
    if not may.may_write:
        raise NotAllowed(
            "not_yours", _("These files are shared with you to be read. Only their owner may change them.")
        )
    return may


def _check_owner(may: Rights, file: WorkspaceFile, user_id: UUID) -> None:
    if not may.owns and file.made_by_id != user_id:
        message = _("Only the project's owner and whoever put this file there may delete or rename it.")
        raise NotAllowed("not_yours", message)


def _check_free(place: Place, path: str, *, leaving: WorkspaceFile | None = None) -> None:
    """A path is a file or a folder, as on every disk. `leaving`: a file that is about to go from where it is."""
    parts = path.split("/")
    above = ["/".join(parts[:number]) for number in range(1, len(parts))]
    there = WorkspaceFile.objects.at(place.scope, place.scope_id).standing()
    if leaving is not None:
        there = there.exclude(pk=leaving.pk)
    found = there.filter(Q(path__in=above) | Q(path__startswith=f"{path}/")).values_list("path", flat=True).first()
    if found is not None:
        folder, file = (path, found) if len(found) > len(path) else (found, path)
        message = _("'{folder}' cannot be a file and the folder of '{file}' at once. Choose another name.").format(
            folder=folder, file=file
        )
        raise Conflict("file_and_folder", message)


def _check_number(holder: Holder) -> None:
    if WorkspaceFile.objects.filter(**holder.fields).count() >= MOST_FILES:
        message = _(
            "There are {limit} files already, with those in the bin. Delete some, or pack them into one."
        ).format(limit=grouped(MOST_FILES))
        raise Conflict("too_many_files", message)


def _file(place: Place, path: str) -> WorkspaceFile | None:
    """Also one in the bin. Raises BadPath."""
    return WorkspaceFile.objects.at(place.scope, place.scope_id).filter(path=clean_path(path)).first()


def _standing(place: Place, path: str) -> WorkspaceFile:
    file = _file(place, path)
    if file is None or file.deleted_at is not None:
        raise NotThere
    return file


def _by_holder(files: "QuerySet[WorkspaceFile]") -> list[tuple[Holder, list[WorkspaceFile]]]:
    found: dict[Holder, list[WorkspaceFile]] = {}
    for file in files.order_by("pk")[:MOST_FILES]:
        found.setdefault(Holder(file.user_id, file.project_id), []).append(file)
    return list(found.items())


def _facts(file: WorkspaceFile) -> FileFacts:
    return FileFacts(file.path, file.size_bytes, file.media_type, file.version, file.sha256, file.changed_at)
