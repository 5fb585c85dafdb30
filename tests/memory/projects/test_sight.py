"""Who sees which document: the rule in SQL, the rule in Django's words and a third one, written down here, say the same
whatever people do; and Charlie sees nothing.
"""

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from hyperagent.accounts.models import User
from memory import projects
from memory.actions import documents
from memory.kinds import SEARCHABLE, DocumentStatus, Visibility
from memory.models import Document, Project
from memory.sight import Scope
from tests.memory.projects.conftest import document

pytestmark = [pytest.mark.django_db, pytest.mark.spec("B20", "B30")]
STEPS = 60


def by_sql(user: User, **more: Any) -> set[uuid.UUID]:
    """What a search may look at."""
    scope = Scope(user.pk, **more)
    with connection.cursor() as cursor:
        cursor.execute(f"WITH {scope.visible} SELECT id FROM visible", scope.parameters)
        found = [row[0] for row in cursor.fetchall()]
    assert len(found) == len(set(found)), "a document that is seen for two reasons is found once"
    return set(found)


def by_django(user: User) -> set[uuid.UUID]:
    found = list(Document.objects.seen_by(user).values_list("pk", flat=True))
    assert len(found) == len(set(found))
    return set(found)


@dataclass
class Kept:
    """What the test knows of a document."""

    owner: uuid.UUID
    status: str = "ready"
    visibility: str = "private"
    groups: set[int] = field(default_factory=set)


class World:
    """People who do anything that the product lets them do, and what each should see after it."""

    def __init__(self, seed: int, people: list[User], *, everyone: bool) -> None:
        self.chance = random.Random(seed)
        self.people = people
        self.everyone = everyone
        self.groups = [Group.objects.create(name=f"group {number} of {seed}") for number in range(3)]
        self.in_groups: dict[uuid.UUID, set[int]] = {person.pk: set() for person in people}
        self.documents: dict[uuid.UUID, Kept] = {}
        self.members: dict[uuid.UUID, set[uuid.UUID]] = {}
        self.owners: dict[uuid.UUID, uuid.UUID] = {}
        self.holds: dict[uuid.UUID, set[uuid.UUID]] = {}

    def step(self) -> None:
        steps: list[tuple[int, Callable[[User], None]]] = [
            (4, self.give), (4, self.share), (1, self.delete_document), (2, self.change_state), (2, self.join_group),
            (2, self.leave_group), (2, self.begin_project), (4, self.add_member), (2, self.remove_member),
            (4, self.add_document), (2, self.take_out), (1, self.delete_project), (1, self.deactivate),
        ]  # fmt: skip
        [chosen] = self.chance.choices([act for _, act in steps], [weight for weight, _ in steps])
        chosen(self.chance.choice(self.people))

    def sees(self, user: User) -> set[uuid.UUID]:
        return {id_ for id_, kept in self.documents.items() if self._may_see(user.pk, id_, kept)}

    def _may_see(self, user: uuid.UUID, id_: uuid.UUID, kept: Kept) -> bool:
        in_project = any(user in self.members[project] and id_ in held for project, held in self.holds.items())
        in_group = kept.visibility == "groups" and bool(kept.groups & self.in_groups[user])
        return kept.owner == user or kept.visibility == "everyone" or in_group or in_project

    def give(self, user: User) -> None:
        made = document(user)
        self.documents[made.pk] = Kept(user.pk)

    def share(self, user: User) -> None:
        own = self._own(user)
        if own is None:
            return
        groups = self.chance.sample(self.groups, self.chance.randint(1, 2))
        allowed = [group for group in groups if group.pk in self.in_groups[user.pk]]
        kinds = [Visibility.PRIVATE, Visibility.GROUPS, *([Visibility.EVERYONE] if self.everyone else [])]
        kind = self.chance.choice(kinds)
        if kind is Visibility.GROUPS and not allowed:
            return
        documents.share(user, own, visibility=kind, groups=allowed)
        self.documents[own].visibility = kind.value
        self.documents[own].groups = {group.pk for group in allowed} if kind is Visibility.GROUPS else set()

    def delete_document(self, user: User) -> None:
        own = self._own(user)
        if own is not None:
            documents.delete(user, own)
            del self.documents[own]
            for held in self.holds.values():
                held.discard(own)

    def change_state(self, user: User) -> None:
        own = self._own(user)
        if own is not None:
            status = self.chance.choice(list(DocumentStatus))
            Document.objects.filter(pk=own).update(status=status)
            self.documents[own].status = status.value

    def join_group(self, user: User) -> None:
        group = self.chance.choice(self.groups)
        user.groups.add(group)
        self.in_groups[user.pk].add(group.pk)

    def leave_group(self, user: User) -> None:
        group = self.chance.choice(self.groups)
        user.groups.remove(group)
        self.in_groups[user.pk].discard(group.pk)

    def begin_project(self, user: User) -> None:
        made = projects.create(user, name="Plans")
        self.members[made.pk], self.owners[made.pk], self.holds[made.pk] = {user.pk}, user.pk, set()

    def add_member(self, user: User) -> None:
        project = self._project(user, owned=True)
        other = self.chance.choice(self.people)
        if project is not None and other.is_active:
            projects.add_member(user, project, other.email.upper())
            self.members[project].add(other.pk)

    def remove_member(self, user: User) -> None:
        project = self._project(user, owned=True)
        others = sorted(self.members[project] - {user.pk}) if project else []
        if project is not None and others:
            gone = self.chance.choice(others)
            by = self.chance.choice([user, next(person for person in self.people if person.pk == gone)])
            projects.remove_member(by, project, gone)
            self.members[project].discard(gone)
            self.holds[project] = {id_ for id_ in self.holds[project] if self.documents[id_].owner != gone}

    def add_document(self, user: User) -> None:
        project, own = self._project(user), self._own(user)
        if project is not None and own is not None:
            projects.add_documents(user, project, [own])
            self.holds[project].add(own)

    def take_out(self, user: User) -> None:
        project = self._project(user)
        allowed = [
            id_
            for id_ in sorted(self.holds[project] if project else ())
            if user.pk in (self.owners[project], self.documents[id_].owner)  # type: ignore[index]
        ]
        if project is not None and allowed:
            projects.take_out(user, project, allowed[0])
            self.holds[project].discard(allowed[0])

    def delete_project(self, user: User) -> None:
        project = self._project(user, owned=True)
        if project is not None:
            projects.delete(user, project)
            for table in (self.members, self.owners, self.holds):
                del table[project]

    def deactivate(self, user: User) -> None:
        """What they shared stays with those whom they shared it with: it is the company's."""
        user.is_active = not user.is_active
        user.save(update_fields=["is_active"])

    def _own(self, user: User) -> uuid.UUID | None:
        own = sorted(id_ for id_, kept in self.documents.items() if kept.owner == user.pk)
        return self.chance.choice(own) if own else None

    def _project(self, user: User, *, owned: bool = False) -> uuid.UUID | None:
        mine = sorted(id_ for id_, members in self.members.items() if user.pk in members)
        mine = [id_ for id_ in mine if not owned or self.owners[id_] == user.pk]
        return self.chance.choice(mine) if mine else None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_everybody_sees_what_is_theirs_to_see_whatever_is_done_and_charlie_nothing(
    seed: int, alice: Any, bob: Any, charlie: Any
) -> None:
    dora, emil = (User.objects.create(email=f"{name}@example.org") for name in ("dora", "emil"))
    # Charlie is there, and in nothing: no group, no project.
    world = World(seed, [alice, bob, dora, emil], everyone=seed % 2 == 0)
    world.in_groups[charlie.pk] = set()

    for _ in range(STEPS):
        world.step()
        for person in (*world.chance.sample(world.people, 2), charlie):
            wanted = world.sees(person)
            assert by_django(person) == wanted
            assert by_sql(person) == {id_ for id_ in wanted if world.documents[id_].status in SEARCHABLE}
        if not world.everyone:
            assert by_django(charlie) == by_sql(charlie) == set()

    for person in (*world.people, charlie):
        for project in Project.objects.all():
            inside = set(projects.document_ids(project.pk, person.pk))
            assert inside <= by_sql(person)
            assert not inside or person.pk in world.members[project.pk]


def test_naming_documents_and_filters_widens_nothing(alice: Any, charlie: Any) -> None:
    hidden, shown = document(alice), document(alice, visibility="everyone")

    assert by_sql(charlie, document_ids=(hidden.pk,)) == set()
    assert by_sql(charlie, document_ids=(hidden.pk, shown.pk)) == {shown.pk}


def test_whoever_leaves_a_group_sees_nothing_of_it_from_that_moment(alice: Any, charlie: Any) -> None:
    group = Group.objects.create(name="Research")
    alice.groups.add(group)
    charlie.groups.add(group)
    shared = document(alice)
    documents.share(alice, shared.pk, visibility=Visibility.GROUPS, groups=[group])
    assert by_sql(charlie) == by_django(charlie) == {shared.pk}

    charlie.groups.remove(group)

    assert by_sql(charlie) == by_django(charlie) == set()


def test_groups_that_are_left_over_show_nothing_once_a_document_is_private(alice: Any, charlie: Any) -> None:
    """The rows of the groups alone decide nothing."""
    group = Group.objects.create(name="Research")
    charlie.groups.add(group)
    private = document(alice)
    private.groups.add(group)

    assert by_sql(charlie) == by_django(charlie) == set()


def test_documents_of_a_deactivated_account_stay_with_those_whom_they_were_shared_with(alice: Any, bob: Any) -> None:
    project = projects.create(bob, name="Plans")
    projects.add_member(bob, project.pk, alice.email)
    shared = document(alice)
    projects.add_documents(alice, project.pk, [shared.pk])

    alice.is_active = False
    alice.save()

    assert by_sql(bob) == by_django(bob) == {shared.pk}


def test_documents_of_a_deleted_account_are_gone_for_everybody(alice: Any, bob: Any) -> None:
    document(alice, visibility="everyone")

    alice.delete()

    assert by_sql(bob) == by_django(bob) == set()
