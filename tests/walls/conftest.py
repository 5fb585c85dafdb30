"""What every test of the walls has."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _as_many_requests_as_a_test_wants(settings: Any) -> None:
    """One person opens every address here. The quota has tests of its own."""
    settings.CONFIG = settings.CONFIG.model_copy(update={"requests_per_minute": 0})
