"""Everything that changes a project, and what runs are told of it. Pages, endpoints and conversations call these verbs.

The owner names it, writes its instructions and chooses its members. Members see its documents and add their own. Who
leaves, or is removed, takes their documents along. The owner may hand it over to a member, and an administrator may
while the owner is deactivated. Deleting it deletes no document and no conversation.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from hyperagent.accounts import attempts, people
from hyperagent.accounts.attempts import Try
from hyperagent.accounts.limits import Door
from hyperagent.accounts.models import User
from hyperagent.accounts.scopes import UserKind
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.recording import Target, actor_of, record
from hyperagent.lib.alphabet import by_name
from hyperagent.lib.clipping import one_line
from hyperagent.lib.languages import grouped
from hyperagent.lib.refusals import Conflict, NotAllowed, NotThere, Refused
from hyperagent.lib.text import clean_text
from memory.kinds import SEARCHABLE
from memory.models import Document, Project

NAME_CHARS: Final = 120
INSTRUCTIONS_CHARS: Final = 4_000
"""They stand in every prompt of every run."""
MAX_PROJECTS: Final = 200
MAX_MEMBERS: Final = 200
MAX_DOCUMENTS: Final = 2_000


@dataclass(frozen=True, slots=True)
class ProjectBrief:
    """What the agents of a run are told of its project. `written_by`: the name of whoever wrote the instructions;
    `author_id`: who that is, None for an earlier owner."""

    id: uuid.UUID
    name: str
    instructions: str
    written_by: str
    author_id: uuid.UUID | None


def create(user: User, *, name: str, instructions: str = "") -> Project:
    with transaction.atomic():
        User.objects.hold(user.pk)
        if Project.objects.filter(owner=user).count() >= MAX_PROJECTS:
            raise Refused(
                "too_many_projects", _("You own {limit} projects. Delete one that is over.").format(limit=MAX_PROJECTS)
            )
        project = Project.objects.create(owner=user, name=_name(name), instructions=_instructions(instructions))
        project.members.add(user)
    return project


def change(user: User, project_id: uuid.UUID, *, name: str | None = None, instructions: str | None = None) -> Project:
    """What is None stays."""
    with transaction.atomic():
        project = _of_owner(user, project_id)
        if name is not None:
            project.name = _name(name)
        if instructions is not None:
            project.instructions, project.is_inherited = _instructions(instructions), False
        project.save(update_fields=["name", "instructions", "is_inherited"])
    return project


def delete(user: User, project_id: uuid.UUID) -> None:
    """Documents and conversations stay with their owners."""
    with transaction.atomic():
        project = _of_owner(user, project_id)
        others = list(project.members.exclude(pk=user.pk).order_by("pk").values_list("pk", flat=True))
        project.delete()
        for member_id in others:
            _record(AuditKind.PROJECT_UNSHARED, user, project_id, member=str(member_id))


def add_member(user: User, project_id: uuid.UUID, email: str) -> tuple[User, bool]:
    """The member, and whether they are new."""
    with transaction.atomic():
        project = _of_owner(user, project_id)
        person = User.objects.with_email(clean_text(email)).filter(is_active=True).first()
        if person is None:
            message = _("Nobody here has the e-mail address '{address}'. Check its spelling.").format(
                address=clean_text(email).strip()[:100]
            )
            raise Refused.at("email", message, code="no_such_person")
        if project.members.filter(pk=person.pk).exists():
            return person, False
        if project.members.count() >= MAX_MEMBERS:
            raise Refused("too_many_members", _("A project has {limit} members at most.").format(limit=MAX_MEMBERS))
        project.members.add(person)
        _record(AuditKind.PROJECT_SHARED, user, project_id, member=str(person.pk))
    return person, True


def add_by_address(user: User, project_id: uuid.UUID, email: str, *, address: str | None) -> tuple[User, bool]:
    """The same for somebody who names an e-mail address at a door of ours, from this network address. The answer says
    whether anybody has an account with it, so the tries of a person are counted. Raises TooManyTries."""
    with transaction.atomic():
        _of_owner(user, project_id)
    attempts.take(Try(Door.MEMBERS, user.email, address))
    return add_member(user, project_id, email)


def remove_member(user: User, project_id: uuid.UUID, member_id: uuid.UUID) -> None:
    """The owner removes others; everybody else leaves by removing themselves. Their documents go with them."""
    with transaction.atomic():
        project = _of_member(user, project_id)
        if user.pk not in (project.owner_id, member_id):
            raise NotAllowed("not_yours", _("Only the project's owner removes others. You may leave it yourself."))
        member = project.members.filter(pk=member_id).first()
        if member is None:
            raise NotThere
        if member_id == project.owner_id:
            raise Conflict("owner_stays", _("Its owner cannot leave a project. Delete it when it is over."))
        project.members.remove(member)
        project.documents.remove(*project.documents.filter(owner=member))
        _record(AuditKind.PROJECT_UNSHARED, user, project_id, member=str(member_id))


def able() -> QuerySet[User]:
    """Whom a project can be handed over to, if they are members of it."""
    return User.objects.filter(is_active=True, kind=UserKind.PERSON).order_by(*by_name("display_name"), "email")


def heirs_of(project: Project) -> QuerySet[User]:
    return able().filter(projects=project).exclude(pk=project.owner_id)


def hand_over(owner: User, project_id: uuid.UUID, member_id: uuid.UUID) -> User:
    """This member is its owner from then on. The one before stays a member."""
    with transaction.atomic():
        return _hand_over(_of_owner(owner, project_id), member_id, by=owner)


def hand_over_for(owner_id: uuid.UUID, project_id: uuid.UUID, member_id: uuid.UUID, *, by: User) -> User:
    """The same by an administrator, of a project whose owner is deactivated."""
    with transaction.atomic():
        owner = people.hold(by, owner_id).user
        if owner.is_active:
            message = _("They are active: they hand their projects over themselves, on the page of each.")
            raise Conflict("owner_is_active", message)
        project = Project.objects.select_for_update().filter(pk=project_id, owner=owner).first()
        if project is None:
            raise NotThere
        return _hand_over(project, member_id, by=by)


def _hand_over(project: Project, member_id: uuid.UUID, *, by: User) -> User:
    """Its instructions are not the heir's words, and do not stand in the prompts of their runs as theirs."""
    heir = heirs_of(project).filter(pk=member_id).first()
    if heir is None:
        raise NotThere
    project.owner, project.is_inherited = heir, True
    project.save(update_fields=["owner", "is_inherited"])
    _record(AuditKind.PROJECT_HANDED_OVER, by, project.pk, member=str(heir.pk))
    return heir


def add_documents(user: User, project_id: uuid.UUID, document_ids: Sequence[uuid.UUID]) -> None:
    """All of them, or none. What is in it already stays."""
    try:
        with transaction.atomic():
            _add_documents(user, project_id, set(document_ids))
    except IntegrityError:
        # One of them was deleted at this instant.
        raise NotThere from None


def _add_documents(user: User, project_id: uuid.UUID, wanted: set[uuid.UUID]) -> None:
    project = _of_member(user, project_id)
    own = list(Document.objects.of(user).filter(pk__in=wanted))
    if strange := wanted - {document.pk for document in own}:
        if Document.objects.seen_by(user).filter(pk__in=strange).count() == len(strange):
            message = _("You can add documents that you own. This one is shared with you: its owner may add it.")
            raise NotAllowed("not_yours", message)
        raise NotThere
    if project.documents.exclude(pk__in=wanted).count() + len(wanted) > MAX_DOCUMENTS:
        raise Refused(
            "too_many_documents", _("A project has {limit} documents at most.").format(limit=grouped(MAX_DOCUMENTS))
        )
    project.documents.add(*own)
    for document in own:
        _record(AuditKind.DOCUMENT_SHARED, user, project_id, document=document.pk)


def take_out(user: User, project_id: uuid.UUID, document_id: uuid.UUID) -> None:
    """By the project's owner, or the document's. The document stays with its owner."""
    with transaction.atomic():
        project = _of_member(user, project_id)
        document = project.documents.only("owner_id").filter(pk=document_id).first()
        if document is None:
            raise NotThere
        if user.pk not in (project.owner_id, document.owner_id):
            raise NotAllowed("not_yours", _("Only the project's owner and the document's may take it out."))
        project.documents.remove(document)
        _record(AuditKind.DOCUMENT_UNSHARED, user, project_id, document=document_id)


def _record(
    kind: AuditKind, by: User, project_id: uuid.UUID, *, member: str = "", document: uuid.UUID | None = None
) -> None:
    """By ids: names of projects and of files are what people wrote."""
    target = Target("document", str(document)) if document else Target("project", str(project_id))
    details = {"project_id": str(project_id)} if document else {"member": member}
    record(kind, actor=actor_of(by), target=target, details=details)


def document_ids(project_id: uuid.UUID, user_id: uuid.UUID) -> tuple[uuid.UUID, ...]:
    """The searchable documents of a project, for its members; none for others. One query."""
    mine = Project.objects.filter(pk=project_id, members=user_id)
    found = Document.objects.filter(projects__in=mine, status__in=SEARCHABLE)
    return tuple(found.order_by("pk").values_list("pk", flat=True))


def brief_of(project_id: uuid.UUID, user_id: uuid.UUID) -> ProjectBrief | None:
    """None for whoever is no member. One query."""
    project = Project.objects.select_related("owner").filter(pk=project_id, members=user_id).first()
    if project is None:
        return None
    if project.is_inherited:
        return ProjectBrief(project.pk, project.name, project.instructions, "an earlier owner", None)
    name = project.owner.display_name or "its owner"
    return ProjectBrief(project.pk, project.name, project.instructions, name, project.owner_id)


def seen(user: User, project_id: uuid.UUID) -> Project:
    """Raises NotThere for whoever is no member."""
    found = Project.objects.seen_by(user).filter(pk=project_id).first()
    if found is None:
        raise NotThere
    return found


def _of_member(user: User, project_id: uuid.UUID) -> Project:
    """Locked: who is just removed adds nothing. Others' projects are not looked at: they take no time, and no lock."""
    project = Project.objects.select_for_update(of=("self",)).filter(pk=project_id, members=user).first()
    # Once more, for it may have been waited for.
    if project is None or not project.members.filter(pk=user.pk).exists():
        raise NotThere
    return project


def _of_owner(user: User, project_id: uuid.UUID) -> Project:
    project = _of_member(user, project_id)
    if project.owner_id != user.pk:
        raise NotAllowed("not_yours", _("Only the project's owner may change this."))
    return project


def _name(text: str) -> str:
    name = one_line(clean_text(text))
    if not 1 <= len(name) <= NAME_CHARS:
        message = _("A project's name has 1 to {limit} characters.").format(limit=NAME_CHARS)
        raise Refused.at("name", message, code="bad_name")
    return name


def _instructions(text: str) -> str:
    cleaned = clean_text(text).strip()
    if len(cleaned) > INSTRUCTIONS_CHARS:
        message = _(
            "The instructions have {count} characters; at most {limit} are allowed, because every agent is told them "
            "each time. Put the rest into a document of the project."
        ).format(count=grouped(len(cleaned)), limit=grouped(INSTRUCTIONS_CHARS))
        raise Refused.at("instructions", message, code="too_long")
    return cleaned
