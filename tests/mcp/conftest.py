"""What the tests of MCP share: servers on loopback, people's connections to them, and runners that reach them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.faces.conftest import _quick_hashes, _web, api_of, client_of, in_threads, web
from tests.mcp.servers import Served, calculator, liar
from tests.runtime.conftest import make_runner
from tests.scripted.fixtures import scripted_server

__all__ = ["_quick_hashes", "_web", "api_of", "client_of", "in_threads", "make_runner", "scripted_server", "web"]


@pytest.fixture
def calculating() -> Iterator[Served]:
    held: list[Served] = []
    held.append(Served(calculator(lambda: held[0])).start())
    yield held[0]
    held[0].stop()


@pytest.fixture
def lying() -> Iterator[Served]:
    served = Served(liar()).start()
    yield served
    served.stop()


@pytest.fixture
def connect(bob: Any) -> Any:
    """Connects a server for everybody, by Bob, and allows its tools as they describe themselves."""
    from agents.mcp import actions  # the models exist once Django is set up
    from agents.mcp.actions import Reviewed, Wanted
    from agents.mcp.definitions import Risk

    def connect_it(url: str, name: str = "calc", **more: Any) -> Any:
        wanted = Wanted(name=name, url=url, is_inner=True, agents=("chat", "research"), for_installation=True, **more)
        server = actions.look(bob, actions.add_server(bob, wanted).pk)
        assert server.state == "connected", server.last_error
        for tool in server.tools.all():
            risk = Risk(tool.risk)
            reviewed = Reviewed(tool.pin, risk, requires_approval=risk is not Risk.READ, allowed=True)
            actions.review_tool(bob, server.pk, tool.pk, reviewed)
        return server

    return connect_it
