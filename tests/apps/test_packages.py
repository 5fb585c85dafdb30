"""Starters and packages of npm for apps: where files lie in a box, what is offered, what an administrator installs."""

import json
import shutil
import subprocess
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agents.apps import packages
from agents.apps.own import OwnApps
from agents.apps.starters import STARTERS, in_workspace, offered
from agents.sandbox.base import APP, Command
from agents.tools.tool import ToolError
from hyperagent.lib.threads import in_thread
from tests.apps.test_apps import browser, built, row_of, with_libraries
from tests.sandbox.sessions.working import Agent, needs_walls

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm on this machine")
GREET = """
const express = require("greet");
require("http").createServer((_, response) => response.end(express("Ada"))).listen(process.env.PORT, "127.0.0.1");
"""
ANSWERS_LATE = """
import os, socket
listening = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
for number in range(1000):
    connection, _ = listening.accept()
    connection.recv(65536)
    if number >= 2:
        connection.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\nconnection: close\\r\\n\\r\\nok")
    connection.close()
"""


@pytest.fixture
def data(tmp_path: Path, settings: Any) -> Path:
    """DATA_DIR, where nothing is installed yet."""
    settings.CONFIG = settings.CONFIG.model_copy(update={"data_dir": tmp_path / "data"})
    return tmp_path / "data"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """npm asks nobody, and keeps nothing outside of the test."""
    monkeypatch.setenv("npm_config_offline", "true")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))


def pretended(data: Path, *names: str) -> None:
    for name in names:
        folder = data / "apps" / "node_modules" / name
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"version": "1.2.3"}')
    (data / "apps" / "package.json").write_text(json.dumps({"dependencies": dict.fromkeys(names, "1.2.3")}))


def package(folder: Path, name: str, *, script: str) -> Path:
    """One of npm's, whose installation would leave a mark."""
    folder.mkdir()
    facts = {"name": name, "version": "1.0.0", "main": "index.js", "scripts": {"postinstall": "touch ran-as-us"}}
    (folder / "package.json").write_text(json.dumps(facts))
    (folder / "index.js").write_text(script)
    return folder


async def run(agent: Agent, line: str) -> Any:
    box = await agent.client.box(agent.about)
    return await box.run(Command(("/bin/sh", "-c", line), wall_s=60))


@pytest.mark.parametrize(
    ("written", "lies_at"),
    [
        ("index.html", "app/index.html"),
        ("./index.html", "app/index.html"),
        ("/home/user/app/index.html", "app/index.html"),
        ("app/page.js", "app/app/page.js"),
        ("/home/user/app/app/page.js", "app/app/page.js"),
    ],
)
def test_a_path_is_one_of_the_project_whose_folders_may_be_called_as_it_is(written: str, lies_at: str) -> None:
    assert in_workspace(written) == lies_at


@pytest.mark.slow
@needs_walls
@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S194", "S197")
async def test_the_files_of_each_starter_lie_in_the_box_where_its_table_says(
    working: Callable[..., Any], data: Path
) -> None:
    pretended(data, "express", "next", "react", "react-dom")

    for name, starter in STARTERS.items():
        agent = await working(name)
        apps = OwnApps(lambda agent=agent: agent.client, agent.workspace)  # type: ignore[misc]
        await apps.create(agent.about, name, by="chat", key="")
        await apps._ready(agent.about)
        box = await agent.client.box(agent.about)
        assert {file.path for file in await box.files(APP)} == {f"{APP}/{path}" for path in starter.files()}
        if name == "nextjs":
            await apps.write(agent.about, "app/page.js", "changed", by="chat", key="")
            await apps._ready(agent.about)
            assert await box.read(f"{APP}/app/page.js", max_bytes=100) == b"changed"
            assert f"{APP}/page.js" not in {file.path for file in await box.files(APP)}


@pytest.mark.slow
@needs_walls
@pytest.mark.django_db(transaction=True)
async def test_an_app_is_shown_once_it_answers_not_once_it_listens(working: Callable[..., Any], tmp_path: Path) -> None:
    agent = await working("alice", provider=with_libraries(tmp_path))
    apps = OwnApps(lambda: agent.client, agent.workspace)
    await apps.write(agent.about, "late.py", ANSWERS_LATE, by="chat", key="")

    started = await apps.start(agent.about, title="Late", command="python3 late.py", port=5173)

    assert started.running, started.said
    async with browser(agent) as web:
        assert (await web.get(f"http://{(await row_of(agent)).label}.localhost/")).text == "ok"


def test_a_starter_is_offered_when_its_packages_are_there(data: Path) -> None:
    assert [starter.name for starter in offered()] == ["static", "react", "vue", "flask", "fastapi", "node"]

    pretended(data, "express", "next", "react")
    assert [starter.name for starter in offered()][6:] == ["express"]
    shutil.rmtree(data / "apps")
    pretended(data, "express", "next", "react", "react-dom")
    assert [starter.name for starter in offered()][6:] == ["express", "nextjs"]


@pytest.mark.slow
@needs_walls
@pytest.mark.django_db(transaction=True)
async def test_it_is_told_at_once_which_packages_are_there_and_what_to_type_for_others(
    working: Callable[..., Any], data: Path, tmp_path: Path
) -> None:
    pretended(data, "express", "@scope/two")
    agent = await working("alice", provider=with_libraries(tmp_path))
    apps = OwnApps(lambda: agent.client, agent.workspace)

    there = await apps.install(agent.about, ("express@5", "@scope/two"), manager="npm")
    lacking = await apps.install(agent.about, ("express", "left-pad@1"), manager="npm")
    python = await apps.install(agent.about, ("flask",), manager="pip")
    no_python = await apps.install(agent.about, ("left-pad",), manager="pip")
    by_itself = await run(agent, "npm install left-pad; pip install left-pad")

    assert (there.installed, there.said.count("1.2.3")) == (True, 2)
    assert not lacking.installed
    assert "Not there: left-pad@1. An administrator can type: manage.py app_install left-pad@1" in lacking.said
    assert "What else is there: @scope/two 1.2.3." in lacking.said
    assert python.installed or "No module named pip" in python.said, python.said
    assert not no_python.installed
    if "No module named pip" not in no_python.said:
        assert "the-sandbox-has-no-network" in no_python.said
    assert by_itself.seconds < 30
    with pytest.raises(ToolError, match=r"manage\.py app_install next react react-dom"):
        await apps.create(agent.about, "nextjs", by="chat", key="")


@pytest.mark.slow
@needs_walls
@needs_npm
@pytest.mark.django_db(transaction=True)
async def test_what_an_administrator_installed_is_found_by_apps_and_nothing_of_it_ran_or_takes_room_in_the_box(
    working: Callable[..., Any], data: Path, tmp_path: Path, offline: None
) -> None:
    greet = package(tmp_path / "greet", "greet", script='module.exports = (name) => "Hello, " + name;')
    more = package(tmp_path / "more", "more", script="module.exports = 1;")
    said = StringIO()
    await in_thread(call_command)("app_install", str(greet), stdout=said)
    await in_thread(call_command)("app_install", f"file:{more}", stdout=said)
    with pytest.raises(CommandError, match="What was there before is still there"):
        await in_thread(call_command)("app_install", "is-not-in-any-cache")
    with pytest.raises(CommandError, match="packages only"):
        await in_thread(call_command)("app_install", "--", "--foreground-scripts")

    agent = await working("alice", provider=with_libraries(tmp_path))
    apps = OwnApps(lambda: agent.client, agent.workspace)
    await apps.write(agent.about, "server.js", GREET, by="chat", key="")
    started = await apps.start(agent.about, title="Greeter", command="node server.js", port=5173)
    modules = await run(agent, "cd app; echo 'import g from \"greet\"; console.log(g(1))' > m.mjs; node m.mjs")
    written = await run(agent, "touch /home/node_modules/greet/x; ls /home/node_modules/greet")

    assert packages.installed() == {"greet": "1.0.0", "more": "1.0.0"}
    assert "greet 1.0.0, more 1.0.0" in said.getvalue()
    assert json.loads((data / "apps" / "package-lock.json").read_text())["packages"]["node_modules/greet"]
    assert started.running, started.said
    async with browser(agent) as web:
        assert (await web.get(f"http://{(await row_of(agent)).label}.localhost/")).text == "Hello, Ada"
    assert modules.stdout == "Hello, 1\n", modules.stderr
    assert "Read-only file system" in written.stderr
    assert "ran-as-us" not in written.stdout
    box = await agent.client.box(agent.about)
    assert not [file.path for file in await box.files() if "node_modules" in file.path]


@pytest.mark.slow
@needs_walls
@needs_npm
@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S194")
async def test_express_from_the_registry_serves_the_starters_page(
    working: Callable[..., Any], data: Path, tmp_path: Path
) -> None:
    if not registry_answers():
        pytest.skip("no registry of npm answers here")
    await in_thread(call_command)("app_install", "express")
    agent = await working("alice", provider=with_libraries(tmp_path))

    _, started = await built(agent, "express")

    assert started.running, started.said
    async with browser(agent) as web:
        base = f"http://{(await row_of(agent)).label}.localhost"
        assert "<h1>Hello</h1>" in (await web.get(f"{base}/")).text
        assert set((await web.get(f"{base}/api/time")).json()) == {"time"}


def registry_answers() -> bool:
    """Asked by npm: tests themselves have no network."""
    asked = ["npm", "view", "express", "version", "--fetch-retries=0", "--fetch-timeout=5000"]
    try:
        return subprocess.run(asked, capture_output=True, timeout=20, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False
