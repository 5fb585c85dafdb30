"""Boxes of E2B: the conformance suite through its SDK, against a service that is stood in for. Not tried against the
real one. Connections to a port of a box are not to be had there, and say so."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agents.sandbox.base import Box, BoxGone, BoxSpec, SandboxError, SandboxProvider
from agents.sandbox.e2b.provider import E2BSandbox
from tests.sandbox import conformance
from tests.sandbox.conformance import LIMITS
from tests.sandbox.services.e2b_service import E2BService
from tests.sandbox.services.executing import Computers
from tests.sandbox.sessions.working import local, needs_walls

pytestmark = needs_walls
# Of the suite what goes over this service; what is done inside is the same program as in containers, and shown there.
OVER_THE_SERVICE = (
    "test_a_program_tells_its_streams_and_its_exit_code",
    "test_a_program_is_heard_while_it_runs_in_whole_characters",
    "test_a_program_that_is_cancelled_is_gone_and_the_box_goes_on",
    "test_output_without_end_is_cut_and_ends_the_program",
    "test_files_go_in_and_out_as_they_are",
    "test_a_folder_is_packed_and_unpacked_into_another_box",
)
globals().update({name: getattr(conformance, name) for name in ("box", *OVER_THE_SERVICE)})
KEY = "e2b_" + "0" * 40


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[tuple[E2BService, str]]:
    service = E2BService(Computers(local()), key=KEY)
    async with service.listening() as url:
        yield service, url
    assert service.unexpected == []


def sandbox(url: str, key: str = KEY) -> E2BSandbox:
    return E2BSandbox(api_key=key, api_url=url, sandbox_url=url, http_version="1.1")


@pytest.fixture
def provider(service: tuple[E2BService, str]) -> SandboxProvider:
    return sandbox(service[1])


async def test_nothing_can_be_connected_to_and_that_is_said(box: Box) -> None:
    with pytest.raises(SandboxError, match="E2B"):
        await box.connect(8123)


@pytest.mark.slow
async def test_one_box_does_not_see_the_files_of_another(box: Box, provider: SandboxProvider) -> None:
    await box.write("/tmp/mine", b"secret")

    other = await provider.open(BoxSpec(key="other", limits=LIMITS))

    assert await other.files("/tmp") == ()
    await other.close()


@pytest.mark.spec("S201")
async def test_a_sandbox_is_asked_for_without_internet_and_ended_with_its_box(
    service: tuple[E2BService, str], provider: SandboxProvider
) -> None:
    box = await provider.open(BoxSpec(key="unified:alice:task", limits=LIMITS))
    (computer,) = service[0].computers.alive.values()

    await box.close()

    assert computer.asked["allow_internet_access"] is False
    assert computer.asked["metadata"] == {"key": "unified:alice:task"}
    assert computer.asked["timeout"] == 3600
    assert service[0].computers.alive == {}


async def test_a_sandbox_that_e2b_ended_is_a_box_that_is_gone(
    service: tuple[E2BService, str], provider: SandboxProvider
) -> None:
    box = await provider.open(BoxSpec(key="k", limits=LIMITS))
    (id_,) = service[0].computers.alive

    await service[0].computers.end(id_)

    with pytest.raises(BoxGone):
        await box.files()
    assert not box.alive


async def test_a_wrong_key_and_a_service_that_is_away_are_told_in_words(service: tuple[E2BService, str]) -> None:
    _, url = service
    assert await sandbox(url).why_not() == ""
    wrong = sandbox(url, "e2b_" + "1" * 40)

    assert "E2B_API_KEY" in await wrong.why_not()
    with pytest.raises(SandboxError, match="E2B opened no sandbox"):
        await wrong.open(BoxSpec(key="k", limits=LIMITS))
