"""What the tests of schedules share: people with clients and tokens, and runners."""

from tests.faces.conftest import _quick_hashes, api_of, client_of
from tests.runtime.conftest import make_runner
from tests.scripted.fixtures import echo_server

__all__ = ["_quick_hashes", "api_of", "client_of", "echo_server", "make_runner"]
