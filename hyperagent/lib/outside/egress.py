"""Which hosts an installation lets its agents reach, and which of them count as its own: what an administrator chose.

Holds for addresses that people, pages or models choose: pages, the browser, connected servers. Webhooks, mail and
models' providers are configured, and not asked about here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from hyperagent.lib.outside.addresses import BadAddress

NOT_ALLOWED: Final = (
    "The host {host} is not among those that this installation lets its agents reach. An administrator can add it to "
    "EGRESS_ALLOW."
)


class NotAllowed(BadAddress):
    """An administrator lets nobody go there."""


@dataclass(frozen=True, slots=True)
class Egress:
    """`allowed`: the hosts that may be reached, all public ones if there are none. `trusted`: those that count as ours.
    `*.example.com` stands for whatever is below `example.com`, and not for that itself."""

    allowed: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()

    def lets(self, host: str) -> bool:
        return not self.allowed or _is_among(host, self.allowed)

    def trusts(self, host: str) -> bool:
        return _is_among(host, self.trusted)

    def check(self, host: str) -> None:
        """Raises NotAllowed."""
        if not self.lets(host):
            raise NotAllowed(NOT_ALLOWED.format(host=host[:200]))


def egress() -> Egress:
    """As the installation is configured."""
    config = settings.CONFIG
    return Egress(config.egress_allow, config.egress_trusted)


def _is_among(host: str, patterns: Sequence[str]) -> bool:
    name = host.lower().removesuffix(".")
    return any(name.endswith(one[1:]) if one.startswith("*.") else name == one for one in patterns)
