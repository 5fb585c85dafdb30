"""How single sign-on is configured: which provider, which client we are there, and what its claims mean here. Pure.

Read from the environment by `conf`; what is done with it is in `hyperagent.accounts.sso`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

UNNAMED: Final = "single sign-on"
USUAL_SCOPES: Final = ("openid", "profile", "email")


class RequiredFor(StrEnum):
    """Who needs a second factor."""

    NONE = "none"
    ADMINISTRATORS = "administrators"
    EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True)
class SignOn:
    """`roles`: from a value of the claim to one of our roles, or to a group. `allowed_domains`: empty for any.

    `is_required`: nobody but administrators signs in with a password.
    """

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    name: str = UNNAMED
    scopes: tuple[str, ...] = USUAL_SCOPES
    roles_claim: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    creates_users: bool = True
    is_required: bool = False
    allowed_domains: tuple[str, ...] = ()


def roles_in(text: str) -> dict[str, str]:
    """The map as it is written in the environment. Raises ValueError."""
    read = json.loads(text)
    if not isinstance(read, dict) or not all(isinstance(role, str) and role.strip() for role in read.values()):
        raise ValueError("not an object of words")
    return {str(value): role.strip() for value, role in read.items()}
