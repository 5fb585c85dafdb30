"""What is listed of a box's folders while its programs go on."""

import os
from pathlib import Path

from agents.sandbox.local.inside.folders import _walk


def test_a_file_that_vanishes_while_its_folder_is_listed_hides_no_other(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.txt").touch()
    in_order = [entry.path for entry in os.scandir(tmp_path)]

    walking = _walk(str(tmp_path))
    first, _ = next(walking)
    Path(in_order[1]).unlink()

    assert [first, *(path for path, _ in walking)] == [in_order[0], *in_order[2:]]
