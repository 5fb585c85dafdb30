"""The scripted model, and programs that run alone."""

from tests.scripted.fixtures import echo_server, scripted_server
from tests.skills.conftest import alone

__all__ = ["alone", "echo_server", "scripted_server"]
