"""What anybody may know of this installation before they come in: who can be asked, where, and with what. Pure. Imports
a2a, which takes most of a second: open it late.
"""

from collections.abc import Iterable
from typing import Any, Final

from a2a.compat.v0_3.conversions import to_compat_agent_card
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]

from agents.spec import AgentSpec
from conversations.a2a.requests import OLDER, VERSION
from hyperagent.accounts.scopes import Scope

NAME: Final = "HyperAgent"
DESCRIPTION: Final = (
    "Agents of a team: they plan, search the team's documents and the web, run programs, and answer with sources. "
    "What changes something waits for a person's approval."
)
# Of what the card says, not of the installation.
CARD_VERSION: Final = "1"
TEXT: Final = ("text/plain",)
_BEARER: Final = "bearer"


def card_of(specs: Iterable[AgentSpec], *, address: str) -> dict[str, Any]:
    """The card in the words of both versions. `address`: of the endpoint, as others reach it."""
    card = AgentCard(
        name=NAME,
        description=DESCRIPTION,
        version=CARD_VERSION,
        supported_interfaces=[
            AgentInterface(url=address, protocol_binding="JSONRPC", protocol_version=version)
            for version in (VERSION, OLDER)
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=False, extended_agent_card=False),
        default_input_modes=[*TEXT, "application/json"],
        default_output_modes=[*TEXT, "application/json"],
        skills=[_skill(spec) for spec in specs],
        security_requirements=[SecurityRequirement(schemes={_BEARER: StringList()})],
    )
    words = f"A token of a person or of a service account, with the scope '{Scope.RUN.value}'."
    card.security_schemes[_BEARER].CopyFrom(
        SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer", description=words))
    )
    older = to_compat_agent_card(card).model_dump(mode="json", by_alias=True, exclude_none=True)
    return _both(MessageToDict(card), older)


def _skill(spec: AgentSpec) -> AgentSkill:
    """A skill is asked for by `metadata: {"mode": <its id>}` of a message; without it the router chooses."""
    return AgentSkill(
        id=spec.name,
        name=spec.name,
        description=spec.description,
        tags=list(spec.capabilities),
        examples=list(spec.typical_use_cases),
    )


def _both(card: dict[str, Any], older: dict[str, Any]) -> dict[str, Any]:
    """What the older version calls otherwise stands beside what the newer one says."""
    schemes = {name: {**older["securitySchemes"][name], **scheme} for name, scheme in card["securitySchemes"].items()}
    return {**older, **card, "securitySchemes": schemes}
