"""What it takes to get into a mailbox, as it is stored: sealed. Nothing here is ever shown, logged or sent on."""

import json
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from hyperagent.lib import secrets

PURPOSE: Final = "credentials of mailboxes, version 1"


class _Sealable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Password(_Sealable):
    password: SecretStr


class Grant(_Sealable):
    """What Google gave. `expires_at`: of the access token, in seconds since 1970."""

    refresh_token: SecretStr
    access_token: SecretStr = SecretStr("")
    expires_at: float = 0


class CannotBeRead(Exception):
    """Sealed with another SECRET_KEY, or damaged: its owner has to connect the mailbox again."""


T = TypeVar("T", bound=_Sealable)


def sealed(credentials: _Sealable) -> str:
    plain = {name: value.get_secret_value() if isinstance(value, SecretStr) else value for name, value in credentials}
    return secrets.seal(json.dumps(plain), purpose=PURPOSE, keys=secrets.installation_keys())


def unsealed(text: str, kind: type[T]) -> T:
    """Raises CannotBeRead."""
    try:
        return kind.model_validate_json(secrets.unseal(text, purpose=PURPOSE, keys=secrets.installation_keys()))
    except (secrets.Unreadable, ValidationError):
        raise CannotBeRead from None
