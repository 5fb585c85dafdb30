"""Hosts, people and agents at work in real boxes, as the sandbox's own tests have them."""

from tests.sandbox.sessions.conftest import hosting, media, people, working
from tests.scripted.fixtures import scripted_server
from tests.skills.conftest import alone

__all__ = ["alone", "hosting", "media", "people", "scripted_server", "working"]
