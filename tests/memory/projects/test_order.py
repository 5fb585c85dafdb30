"""Names stand where people look for them."""

from typing import Any

import pytest
from django.contrib.auth.models import Group

from hyperagent.lib.alphabet import by_name
from memory import projects
from memory.models import Project

pytestmark = pytest.mark.django_db
IN_ORDER = ["Angebote", "Apple", "apple", "Ärztekammer", "Čapek", "Marketing", "Öffentlich", "Straße", "Zebra"]


def test_projects_and_groups_are_in_the_order_of_the_alphabet(alice: Any, client_of: Any) -> None:
    for name in reversed(IN_ORDER):
        projects.create(alice, name=name)
        Group.objects.create(name=name)

    page = client_of(alice).get("/projects/").content.decode()

    assert sorted(IN_ORDER, key=lambda name: page.index(f">{name}</a>")) == IN_ORDER
    for rows in (Project.objects.all(), Group.objects.filter(name__in=IN_ORDER)):
        assert list(rows.order_by(*by_name("name")).values_list("name", flat=True)) == IN_ORDER


def test_files_and_their_folders_too(alice: Any, api_of: Any, client_of: Any, settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    for folder in ("Zebra", "Ärzte", "apple"):
        put = api_of(alice).put(f"/api/v1/files/user/{alice.pk}/{folder}/a.md", "x", content_type="text/plain")
        assert put.status_code in (200, 201), put.content

    page = client_of(alice).get(f"/files/user/{alice.pk}/").content.decode()

    assert page.index(">apple") < page.index(">Ärzte") < page.index(">Zebra")
