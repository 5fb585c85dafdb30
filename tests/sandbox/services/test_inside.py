"""What is carried into boxes of others, in this process."""

from pathlib import Path

import pytest

from agents.sandbox.remote import inside


def test_a_folder_with_more_files_than_are_listed_is_said_to_have_too_many(tmp_path: Path) -> None:
    """A list that is cut hides what a program has made."""
    for number in range(3):
        (tmp_path / f"{number}.txt").touch()

    assert len(inside.files({"folder": str(tmp_path), "most": 3})) == 3
    with pytest.raises(inside.Refused, match="more than 2 files"):
        inside.files({"folder": str(tmp_path), "most": 2})
