"""A machine without a browser."""

from pathlib import Path
from typing import Any

import pytest

from agents.browser import chromium


def test_where_no_chromium_is_installed_it_is_said_what_to_install(
    settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrapper = tmp_path / "chromium"
    wrapper.write_text("#!/bin/sh\nexec elsewhere/chromium\n")
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(chromium, "_PROGRAMS", ("/usr/lib/chromium/is-not-there",))

    assert chromium.program() is None
    assert chromium.why_off(settings.CONFIG) == chromium.NO_CHROMIUM
