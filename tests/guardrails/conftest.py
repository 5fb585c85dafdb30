"""What the tests of the guardrails share with those of runs."""

from tests.runtime.conftest import make_runner
from tests.scripted.fixtures import scripted_server

__all__ = ["make_runner", "scripted_server"]
