"""What memory keeps of a person: documents, connectors, files, what is remembered, and projects."""

from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts.archive import Archive
from hyperagent.accounts.models import User
from hyperagent.accounts.personal import PersonalPart
from hyperagent.lib.refusals import NotThere
from hyperagent.lib.times import iso
from memory.actions import documents
from memory.ingestion import files as storage
from memory.models import (
    Connector,
    Document,
    Memory,
    MemorySwitch,
    MemoryUse,
    Project,
    StoredBytes,
    WorkspaceFile,
)
from memory.workspaces import keeping
from memory.workspaces.places import Holder, Scope, talks

AT_ONCE = 200


class MemoryPart(PersonalPart):
    name = "memory"
    goes = (
        _("Documents and everything that was read in them, also those that were shared"),
        _("Files, with all their versions"),
        _("Everything that is remembered"),
        _("Connectors, and projects that nobody else is in"),
    )
    stays = (
        _("Projects that others are in, with their files: whoever of them has been here longest becomes the owner"),
    )

    def write(self, user_id: UUID, archive: Archive) -> None:
        user = User.objects.get(pk=user_id)
        _write_documents(user, archive)
        _write_files(user_id, archive)
        remembered = Memory.objects.filter(user=user_id).defer("embedding", "terms").order_by("said_at", "id")
        archive.rows("memories.json", (_memory(row) for row in remembered.iterator(chunk_size=AT_ONCE)))
        seen = Project.objects.seen_by(user).order_by("created_at")
        archive.rows("projects.json", (_project(row, user_id) for row in seen.iterator(chunk_size=AT_ONCE)))
        connectors = Connector.objects.filter(owner=user_id)
        archive.rows("connectors.json", (_connector(row) for row in connectors.iterator()))

    def suspend(self, user_id: UUID) -> None:
        Connector.objects.filter(owner=user_id).update(is_on=False)

    def erase(self, user_id: UUID) -> int:
        return (
            _erase_connectors(user_id)
            or _erase_documents(user_id)
            or _erase_files(user_id)
            or _erase_memories(user_id)
            or _leave_projects(user_id)
        )


# --- the export


def _write_documents(user: User, archive: Archive) -> None:
    own = Document.objects.of(user).order_by("created_at", "pk")
    archive.rows("documents.json", (_document(row) for row in own.iterator(chunk_size=AT_ONCE)))
    for document in archive.each("documents", own.only("stored_as", "filename")):
        _copy(archive, f"documents/{document.filename}", document.stored_as)


def _write_files(user_id: UUID, archive: Archive) -> None:
    """As they stand: what lies in the bin was thrown away."""
    folders: dict[tuple[str, UUID], str] = {}
    for file in archive.each("files", WorkspaceFile.objects.filter(user=user_id).standing()):
        place = (file.scope, file.scope_id)
        if place not in folders:
            folders[place] = _folder(user_id, file)
        version = file.versions.select_related("bytes").filter(number=file.version).first()
        if version is not None:
            _copy(archive, f"files/{folders[place]}/{file.path}", version.bytes.stored_as)


def _folder(user_id: UUID, file: WorkspaceFile) -> str:
    if file.scope == Scope.USER:
        return "mine"
    talk = talks(user_id, [file.scope_id]).get(file.scope_id)
    title = talk.title.replace("/", "_") if talk else ""
    return f"conversations/{title[:80] or 'Conversation'} {str(file.scope_id)[:8]}"


def _copy(archive: Archive, path: str, stored_as: str) -> None:
    # Bytes that were lost are no reason to give nothing of the rest.
    with suppress(FileNotFoundError, ValueError), storage.open_file(stored_as) as content:
        archive.copy(path, content)


def _document(document: Document) -> dict[str, Any]:
    return {
        "id": document.pk,
        "filename": document.filename,
        "title": document.title,
        "type": document.doc_type,
        "size_bytes": document.size_bytes,
        "status": document.status,
        "description": document.description,
        "visibility": document.visibility,
        "source": document.source_url,
        "added_at": iso(document.created_at),
    }


def _memory(row: Memory) -> dict[str, Any]:
    return {
        "text": row.text,
        "kind": row.kind,
        "field": row.field or None,
        "status": row.status,
        "pinned": row.is_pinned,
        "said_at": iso(row.said_at),
        "source": row.source_excerpt,
    }


def _project(project: Project, user_id: UUID) -> dict[str, Any]:
    """Of one that is somebody else's no more than that it is: its text is theirs."""
    is_mine = project.owner_id == user_id
    return {
        "id": project.pk,
        "name": project.name,
        "mine": is_mine,
        "instructions": project.instructions if is_mine else None,
        "created_at": iso(project.created_at),
    }


def _connector(connector: Connector) -> dict[str, Any]:
    return {
        "kind": connector.kind,
        "location": connector.location,
        "every_s": connector.every_s,
        "on": connector.is_on,
        "created_at": iso(connector.created_at),
    }


# --- the end


def _erase_connectors(user_id: UUID) -> int:
    # First, so that none of them adds another document.
    return Connector.objects.filter(owner=user_id).delete()[0]


def _erase_documents(user_id: UUID) -> int:
    user = User.objects.get(pk=user_id)
    ids = list(Document.objects.of(user).values_list("pk", flat=True)[:AT_ONCE])
    for document_id in ids:
        with suppress(NotThere):
            documents.delete(user, document_id)
    return len(ids)


def _erase_files(user_id: UUID) -> int:
    """Whole lots: rows first, and after their commit the bytes."""
    holder = Holder(user_id=user_id)
    with transaction.atomic():
        keeping.lock(holder)
        lot = list(WorkspaceFile.objects.filter(user=user_id)[:AT_ONCE])
        keeping.purge(lot)
        unused = [] if lot else list(StoredBytes.objects.filter(user=user_id)[:AT_ONCE])
        StoredBytes.objects.filter(pk__in=[row.pk for row in unused]).delete()
        for row in unused:
            transaction.on_commit(partial(storage.remove, row.stored_as))
    return len(lot) + len(unused)


def _erase_memories(user_id: UUID) -> int:
    ids = list(Memory.objects.filter(user=user_id).values_list("pk", flat=True)[:AT_ONCE])
    MemoryUse.objects.filter(memory__in=ids).delete()
    Memory.objects.filter(pk__in=ids).delete()
    return len(ids) + MemorySwitch.objects.filter(user=user_id).delete()[0]


def _leave_projects(user_id: UUID) -> int:
    """Those of others are left; one of theirs that others are in goes to the member who has been here longest."""
    done = 0
    for project in Project.objects.filter(owner=user_id)[:AT_ONCE]:
        with transaction.atomic():
            # Held: whoever is just leaving it is gone, or comes after.
            if not Project.objects.select_for_update(no_key=True).filter(pk=project.pk, owner=user_id).exists():
                continue
            others = project.members.filter(is_active=True).exclude(pk=user_id)
            heir = others.order_by("date_joined", "pk").first()
            if heir is None:
                _erase_project(project)
            else:
                # Its instructions are not the heir's words, and do not stand in the prompts of their runs as theirs.
                Project.objects.filter(pk=project.pk).update(owner=heir, is_inherited=True)
        done += 1
    for project in Project.objects.filter(members=user_id)[:AT_ONCE]:
        project.members.remove(User(pk=user_id))
        done += 1
    return done


def _erase_project(project: Project) -> None:
    keeping.lock(Holder(project_id=project.pk))
    keeping.purge(list(WorkspaceFile.objects.filter(project=project)))
    for row in StoredBytes.objects.filter(project=project):
        transaction.on_commit(partial(storage.remove, row.stored_as))
    StoredBytes.objects.filter(project=project).delete()
    project.delete()
