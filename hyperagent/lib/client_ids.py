"""The id that whoever says something gives it, so that it counts once however often it arrives."""

from hyperagent.lib.refusals import Refused

CLIENT_ID_CHARS = 100


def checked_client_id(client_id: str | None, *, called: str = "client_id") -> str:
    """Empty for none. `called`: what the request calls it. Raises Refused."""
    if client_id is None:
        return ""
    if len(client_id) > CLIENT_ID_CHARS or not client_id.isprintable():
        message = f"{called} may have {CLIENT_ID_CHARS} printable characters; a random UUID does well."
        raise Refused.at(called, message, code="bad_client_id")
    return client_id
