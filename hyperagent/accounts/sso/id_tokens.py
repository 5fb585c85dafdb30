"""Whether an ID token is the provider's, for us, and of now. Asks nobody: the keys are handed in.

Only signatures by a pair of keys count: what a token says of its own algorithm is never believed beyond this list.
"""

from collections.abc import Mapping
from typing import Any, Final

import jwt

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
SKEW_S: Final = 60
NEEDED: Final = ("iss", "sub", "aud", "exp", "iat")
LONGEST_CHARS: Final = 50_000


class BadToken(Exception):
    """The message is for the log."""


class OffClock(BadToken):
    """It has ended, or begins later."""


class UnknownKey(BadToken):
    """Signed by a key that is not among these; the provider may have newer ones."""


def claims_in(token: str, *, keys: Any, issuer: str, client_id: str) -> Mapping[str, Any]:
    """`keys`: the provider's, as its document says them. Raises BadToken, OffClock, UnknownKey."""
    if len(token) > LONGEST_CHARS:
        raise BadToken("the token is too long")
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in ALGORITHMS:
            raise BadToken(f"the algorithm is {str(header.get('alg'))[:20]!r}")
        claims: dict[str, Any] = jwt.decode(
            token,
            key=_key(keys, header.get("kid")),
            algorithms=[header["alg"]],
            issuer=issuer,
            audience=client_id,
            leeway=SKEW_S,
            options={"require": list(NEEDED)},
        )
    except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError) as error:
        raise OffClock(str(error)) from None
    except (jwt.PyJWTError, ValueError, TypeError, KeyError) as error:
        raise BadToken(f"{type(error).__name__}: {error}") from None
    if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
        raise BadToken("the subject cannot be used")
    return claims


def _key(keys: Any, key_id: object) -> jwt.PyJWK:
    """The one of that name; a token without a name is looked at with the only key there is."""
    usable = [key for key in jwt.PyJWKSet.from_dict(keys).keys if key.public_key_use in (None, "sig")]
    named = [key for key in usable if key_id is None or key.key_id == key_id]
    if len(named) != 1:
        raise UnknownKey(f"there is no one key {str(key_id)[:60]!r}")
    return named[0]
