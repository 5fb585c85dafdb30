"""What programs of ours list and pack within a box, whatever lies there."""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.sandbox.local.inside import folders
from agents.sandbox.remote import inside

MOST = 10_000_000
NAMES = [f"short-{number}.txt" for number in range(20)]


def listed_here(folder: str) -> list[str]:
    return [path for path, _size, _changed in folders._listed(folder)]


def listed_there(folder: str) -> list[str]:
    return [path for path, _size, _changed in inside.files({"folder": folder, "most": MOST})]


def packed_here(folder: str) -> bytes:
    return bytes(folders._pack([folder], MOST))


def packed_there(folder: str) -> bytes:
    to = Path(folder).parent / "staged"
    inside.pack({"folders": [folder], "max_bytes": MOST, "to": str(to)})
    return to.read_bytes()


def a_deep_folder(top: Path) -> str:
    """In it stand files whose path is too long to be asked for, beside others."""
    deep = f"{top}/{'a' * 200}"
    while len(deep) < 3700:
        deep += f"/{'a' * 200}"
    deep += f"/{'a' * (3990 - len(deep))}"
    Path(deep).mkdir(parents=True)
    at = os.open(deep, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in (*NAMES, *(f"long-{number}{'b' * 200}" for number in range(20))):
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=at))
    finally:
        os.close(at)
    return deep


@pytest.mark.parametrize("listed", [listed_here, listed_there], ids=["local", "remote"])
def test_a_file_that_cannot_be_looked_at_hides_no_other(tmp_path: Path, listed: Callable[[str], list[str]]) -> None:
    deep = a_deep_folder(tmp_path / "top")
    (tmp_path / "top" / "plan.md").write_text("plan")

    assert set(listed(str(tmp_path / "top"))) == {f"{tmp_path}/top/plan.md", *(f"{deep}/{name}" for name in NAMES)}


@pytest.mark.parametrize("packed", [packed_here, packed_there], ids=["local", "remote"])
def test_both_names_of_one_file_are_packed_with_what_it_says(tmp_path: Path, packed: Callable[[str], bytes]) -> None:
    """A snapshot of a box has no links, and programs that install packages name the same file twice."""
    top = tmp_path / "top"
    top.mkdir()
    (top / "kept.py").write_text("print(1)")
    (top / "also.py").hardlink_to(top / "kept.py")
    (top / "link.py").symlink_to(top / "kept.py")

    with tarfile.open(fileobj=io.BytesIO(packed(str(top)))) as archive:
        found = {Path(one.name).name: (one.isreg(), one.size) for one in archive.getmembers()}

    assert found == {"kept.py": (True, 8), "also.py": (True, 8)}
