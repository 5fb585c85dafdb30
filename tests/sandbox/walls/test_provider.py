"""What a local provider needs of its machine, and what it says where that is missing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.sandbox.base import HOME, BoxSpec, Command, SandboxError
from agents.sandbox.local.bubblewrap import Identity
from agents.sandbox.local.output import Kept
from agents.sandbox.local.provider import LocalSandbox
from agents.sandbox.local.readable import readable
from agents.sandbox.local.runtime import INSTALLED
from agents.sandbox.local.selftest import why_not_opened


async def test_without_bubblewrap_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    provider = LocalSandbox(libraries=tmp_path, runtime=tmp_path)

    assert "apt-get install bubblewrap" in await provider.why_not()
    with pytest.raises(SandboxError, match="bubblewrap"):
        await provider.open(BoxSpec(key="none"))


def test_a_machine_that_forbids_namespaces_is_told_the_way_out() -> None:
    said = why_not_opened("bwrap: setting up uid map: Permission denied")

    assert "bubblewrap" in said or "AppArmor" in said
    assert "sudo" in said


@pytest.mark.slow
async def test_programs_find_the_packages_and_plot_without_a_window(opened: Callable[..., Any]) -> None:
    if not (INSTALLED / "installed").exists():
        pytest.skip("the packages for programs are not installed: make install")
    box = await opened()

    outcome = await box.run(
        Command(
            [
                "python3",
                "-c",
                "import matplotlib.pyplot as plt, numpy as np\n"
                "plt.plot(np.arange(3)); plt.title('grün'); plt.savefig('plot.png'); print(plt.get_backend())",
            ]
        )
    )

    assert (outcome.stdout, outcome.stderr) == ("Agg\n", "")
    assert (await box.read(f"{HOME}/plot.png", max_bytes=1 << 20)).startswith(b"\x89PNG")
    assert [file.path for file in await box.files()] == [f"{HOME}/plot.png"]


def test_a_folder_that_the_boxes_account_cannot_reach_is_copied_once(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "below").mkdir(parents=True)
    closed.chmod(0o700)
    (closed / "below" / "open").write_text("one")
    (closed / "private").write_text("two")
    (closed / "private").chmod(0o600)
    stranger = Identity(65533)

    assert readable(closed, by=Identity(None), cache=tmp_path / "cache") == closed
    copy = readable(closed, by=stranger, cache=tmp_path / "cache")
    again = readable(closed, by=stranger, cache=tmp_path / "cache")
    (closed / "new").write_text("three")
    newer = readable(closed, by=stranger, cache=tmp_path / "cache")

    assert copy == again != newer
    assert {path.name: path.read_text() for path in copy.rglob("*") if path.is_file()} == {
        "open": "one",
        "private": "two",
    }
    assert all(path.stat().st_mode & 0o004 for path in copy.rglob("*"))
    assert (closed / "private").stat().st_mode & 0o777 == 0o600


def test_a_cut_goes_through_no_character_and_says_what_is_missing() -> None:
    kept = Kept(9)

    for piece in ("ääää", "x" * 1000, "öööö"):
        kept.add(piece.encode())

    text = kept.text()
    assert text.startswith("ää\n")
    assert "öö\n" in text
    assert "\ufffd" not in text
    assert "1,008 bytes are left out" in text
    assert text.endswith("it had 1,016 bytes.]")
