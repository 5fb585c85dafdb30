"""The local provider is a provider like others."""

from tests.sandbox.conformance import *  # noqa: F403
