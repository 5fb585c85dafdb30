"""One town for all tests of a file: it takes long to build. Where namespaces are forbidden the tests say why."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from deploy import topology_network, topology_parts


@pytest.fixture(scope="module")
def _town() -> Iterator[Any]:
    if why := topology_network.why_impossible():
        pytest.skip(why)
    if not topology_parts.nginx_program():
        pytest.skip("nginx is not installed (deploy/apt.txt)")
    from tests.topology.town import Town, connect_within

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect_within(f"{topology_network.SUBNET}."))
        with Town() as town:
            yield town


@pytest.fixture
def town(_town: Any) -> Any:
    """Whole again, whatever the test before it did."""
    _town.mend()
    return _town
