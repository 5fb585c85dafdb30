"""Boxes as containers: the conformance suite through the Docker SDK, against an engine that is stood in for. Not tried
against a real one."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agents.sandbox.base import BoxGone, BoxSpec, Command, Ending, SandboxProvider
from agents.sandbox.docker.provider import DockerSandbox
from tests.sandbox.conformance import *  # noqa: F403
from tests.sandbox.conformance import LIMITS, sh
from tests.sandbox.services.docker_engine import DockerEngine
from tests.sandbox.services.executing import Computers
from tests.sandbox.sessions.working import local, needs_walls

pytestmark = needs_walls
IMAGE = "python:3.11-slim"


@pytest.fixture
async def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DockerEngine]:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    engine = DockerEngine(Computers(local()), images=(IMAGE,))
    async with engine.listening(tmp_path / "docker.sock"):
        yield engine
    assert engine.unexpected == []


@pytest.fixture
def provider(engine: DockerEngine) -> SandboxProvider:
    return DockerSandbox(image=IMAGE, installation="this one")


@pytest.mark.spec("S201")
async def test_a_container_is_asked_for_without_network_rights_and_room(
    engine: DockerEngine, provider: SandboxProvider, tmp_path: Path
) -> None:
    door = tmp_path / "gateway.sock"
    door.touch()
    spec = BoxSpec(key="k", limits=LIMITS, doors={"gateway": door}, read_only={"/opt/hyperagent": tmp_path})

    box = await provider.open(spec)
    (computer,) = engine.computers.alive.values()
    asked, host = computer.asked, computer.asked["HostConfig"]
    await box.close()

    assert asked["Image"] == IMAGE
    assert asked["User"].split(":")[0] != "0"
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["CapDrop"]) == ("none", True, ["ALL"])
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert (host["Memory"], host["MemorySwap"]) == (LIMITS.memory_bytes, LIMITS.memory_bytes)
    assert host["PidsLimit"] == LIMITS.processes
    assert set(host["Tmpfs"]) == {"/home/user", "/tmp"}
    assert f"{door}:/run/hyperagent/gateway.sock:rw" in host["Binds"]
    assert f"{tmp_path}:/opt/hyperagent:ro" in host["Binds"]
    assert engine.computers.alive == {}


async def test_a_container_that_is_removed_in_mid_run_is_a_box_that_is_gone(
    engine: DockerEngine, provider: SandboxProvider
) -> None:
    box = await provider.open(BoxSpec(key="k", limits=LIMITS))
    (id_,) = engine.computers.alive

    await engine.computers.end(id_)

    with pytest.raises(BoxGone):
        await box.files()
    assert not box.alive


async def test_a_box_whose_line_breaks_is_gone_and_its_container_is_removed(
    engine: DockerEngine, provider: SandboxProvider
) -> None:
    box = await provider.open(BoxSpec(key="k", limits=LIMITS))
    began = asyncio.Event()

    running = asyncio.ensure_future(box.run(sh("echo here; sleep 60"), heard=lambda *_: began.set()))
    await asyncio.wait_for(began.wait(), 20)
    for line in engine.following:
        line.transport.abort()
    outcome = await asyncio.wait_for(running, 20)
    is_left = len(engine.computers.alive) == 1
    await box.close()

    assert (outcome.ending, box.alive, is_left) == (Ending.LOST, False, True)
    assert engine.computers.alive == {}


@pytest.mark.slow
async def test_containers_that_an_earlier_life_left_are_removed(engine: DockerEngine) -> None:
    former = DockerSandbox(image=IMAGE, installation="this one")
    await former.open(BoxSpec(key="k", limits=LIMITS))

    now = await DockerSandbox(image=IMAGE, installation="this one").open(BoxSpec(key="k", limits=LIMITS))

    assert len(engine.computers.alive) == 1
    assert (await now.run(sh("echo alone"))).stdout == "alone\n"


@pytest.mark.spec("S201", "B31")
async def test_who_only_asks_whether_there_are_boxes_takes_none_from_those_at_work_in_them(
    engine: DockerEngine, provider: SandboxProvider
) -> None:
    box = await provider.open(BoxSpec(key="k", limits=LIMITS))

    # As `manage.py doctor` does, in a process of its own.
    why_not = await DockerSandbox(image=IMAGE, installation="this one").why_not()

    assert why_not == ""
    assert (await box.run(sh("echo still here"))).stdout == "still here\n"
    await box.close()


@pytest.mark.slow
async def test_boxes_outlive_an_engine_that_was_ill_for_a_moment(
    engine: DockerEngine, provider: SandboxProvider
) -> None:
    box = await provider.open(BoxSpec(key="k", limits=LIMITS))

    engine.is_ill = True
    ill = await provider.why_not()
    engine.is_ill = False
    other = await provider.open(BoxSpec(key="other", limits=LIMITS))

    assert ill.startswith("Docker cannot be used: ")
    assert (await box.run(sh("echo still here"))).stdout == "still here\n"
    for one in (box, other):
        await one.close()


async def test_an_engine_that_is_away_or_lacks_the_image_is_told_in_words(
    engine: DockerEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lacking = await DockerSandbox(image="other:1", installation="x").why_not()
    fine = await DockerSandbox(image=IMAGE, installation="x").why_not()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    away = await DockerSandbox(image=IMAGE, installation="x").why_not()

    assert "docker pull other:1" in lacking
    assert fine == ""
    assert "does not answer" in away


async def test_a_program_has_its_environment(provider: SandboxProvider) -> None:
    box = await provider.open(BoxSpec(key="k", limits=LIMITS))

    outcome = await box.run(Command(["sh", "-c", "echo $COLOUR"], env={"COLOUR": "a b=c"}))

    assert outcome.stdout == "a b=c\n"
    await box.close()
