"""Places for the files of Alice, who has a project with Bob, and conversations. Charlie has nothing to do with them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faces.conftest import _quick_hashes, api_of, client_of

__all__ = ["_quick_hashes", "api_of", "client_of"]
Places = dict[str, Any]
"""The `Place` of each scope, by the scope's name."""


@pytest.fixture(autouse=True)
def media(tmp_path: Path, settings: Any) -> Path:
    """Where the bytes of this test lie."""
    settings.MEDIA_ROOT = tmp_path / "media"
    return tmp_path / "media"


@pytest.fixture
def limited(settings: Any) -> Callable[..., None]:
    """Sets limits for this test: `limited(workspace_quota_bytes=1000)`."""

    def set_limits(**fields: int) -> None:
        settings.CONFIG = settings.CONFIG.model_copy(update=fields)

    return set_limits


@pytest.fixture
def places(alice: Any, bob: Any) -> Places:
    from conversations import actions as conversations  # the models exist once Django is set up
    from memory import projects
    from memory.workspaces.places import Place, Scope

    project = projects.create(alice, name="Plans")
    projects.add_member(alice, project.pk, bob.email)
    conversation = conversations.create(alice, title="Figures", project_id=project.pk)
    return {
        "user": Place(Scope.USER, alice.pk),
        "project": Place(Scope.PROJECT, project.pk),
        "conversation": Place(Scope.CONVERSATION, conversation.pk),
    }


def on_disk(media: Path) -> list[Path]:
    """Every file of bytes that there is."""
    return sorted(path for path in media.rglob("*") if path.is_file())
