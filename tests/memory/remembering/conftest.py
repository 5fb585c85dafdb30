"""Fixtures for the tests of remembering: runners, scripted models, clients of the API."""

from tests.faces.conftest import api_of
from tests.runtime.conftest import make_runner
from tests.scripted.fixtures import echo_server, scripted_server

__all__ = ["api_of", "echo_server", "make_runner", "scripted_server"]
