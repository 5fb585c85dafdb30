"""What it takes to get into a mailbox, as it is stored: sealed. Nothing here is ever shown, logged or sent on."""

import json
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from hyperagent.lib.secrets import Purpose, Unreadable, seal, unseal


class _Sealable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Password(_Sealable):
    password: SecretStr


class Grant(_Sealable):
    """What Google gave. `expires_at`: of the access token, in seconds since 1970."""

    refresh_token: SecretStr
    access_token: SecretStr = SecretStr("")
    expires_at: float = 0


T = TypeVar("T", bound=_Sealable)


def sealed(credentials: _Sealable) -> str:
    plain = {name: value.get_secret_value() if isinstance(value, SecretStr) else value for name, value in credentials}
    return seal(json.dumps(plain), Purpose.MAILBOX)


def unsealed(text: str, kind: type[T]) -> T:
    """Raises Unreadable: its owner has to connect the mailbox again."""
    try:
        return kind.model_validate_json(unseal(text, Purpose.MAILBOX))
    except ValidationError:
        raise Unreadable from None
