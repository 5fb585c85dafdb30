"""What the tests of ingestion share: people with tokens, and a storage of their own for each test."""

from pathlib import Path
from typing import Any

import pytest

from tests.faces.conftest import api_of, client_of, in_threads

__all__ = ["api_of", "client_of", "in_threads"]


@pytest.fixture(autouse=True)
def _quick_hashes(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    return tmp_path / "media"
