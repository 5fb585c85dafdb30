"""What the API's description says of every operation alike: which errors it may answer with, all in the one shape.
Knows no operation by name.
"""

from typing import Any

_ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
_ALWAYS = {
    "429": "Too many requests. `Retry-After` says how many seconds to wait.",
    "503": "The database or Redis is away for the moment. `Retry-After` says how many seconds to wait.",
}
_WITH_A_DOOR = {
    "401": "Nobody is signed in, or the token is not known any more.",
    "403": "The token lacks the scope, or the person the right.",
}
_WITH_VALUES = {"400": "What was sent cannot be used. `fields` names each fault."}
_WITH_A_BODY = {"413": "More than may be sent at once.", "415": "This type of content is not taken here."}
_WITH_A_NAME = {"404": "There is nothing here that the caller may see."}
_METHODS = ("get", "put", "post", "delete", "patch")


def describe_errors(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular, for the finished description."""
    for address in result["paths"].values():
        for method in _METHODS:
            if method in address:
                _describe(address[method])
    return result


def _describe(operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    for status, description in _errors_of(operation).items():
        told = responses.setdefault(status, {})
        told["content"] = told.get("content") or _ERROR
        told["description"] = told.get("description") or description
    # Those that an operation has for itself say nothing beside their shape.
    for told in responses.values():
        told["description"] = told.get("description") or ""
    operation["responses"] = dict(sorted(responses.items()))


def _errors_of(operation: dict[str, Any]) -> dict[str, str]:
    given = operation.get("parameters", [])
    errors = dict(_ALWAYS)
    if {} not in operation.get("security", []):
        errors |= _WITH_A_DOOR
    if "requestBody" in operation:
        errors |= _WITH_VALUES | _WITH_A_BODY
    if any(one["in"] != "path" for one in given):
        errors |= _WITH_VALUES
    if any(one["in"] == "path" for one in given):
        errors |= _WITH_A_NAME
    return errors
