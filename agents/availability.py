"""Whether an agent can work in this installation: what it needs, against the providers that are configured."""

from agents.spec import AgentSpec
from agents.tools.providers import Providers

# What the runners of this installation are given as well.
PROVIDERS = Providers()


def why_unavailable(spec: AgentSpec, providers: Providers = PROVIDERS) -> str:
    """What is missing, in words for people with the way out; empty if nothing is."""
    return providers.lacks(spec.needs)
