"""A host of real boxes and a runner, as the tests of the sandbox and of runs start them."""

from tests.runtime.conftest import make_runner, scripted_server
from tests.sandbox.sessions.conftest import hosting, media, people, working

__all__ = ["hosting", "make_runner", "media", "people", "scripted_server", "working"]
