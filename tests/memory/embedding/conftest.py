"""What the tests of vectors share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def embedders(transactional_db: None, tmp_path: Path) -> Iterator[Any]:
    from tests.memory.embedding.driving import Embedders  # the models exist once Django is set up

    found = Embedders(tmp_path)
    try:
        yield found
    finally:
        for number in range(len(found.processes)):
            found.kill(number)


@pytest.fixture(autouse=True)
def _someone_may_answer() -> None:
    from memory.embedding.asking import ask_again

    ask_again()
