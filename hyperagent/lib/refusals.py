"""Why something that a person asked for is not done: named by what they can do about it. Knows no transport."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from django.utils.translation import gettext as _


class Refused(Exception):
    """Not done, and nothing changed. `message` is for people: what is wrong and what to do."""

    status: ClassVar[int] = 400

    def __init__(self, code: str, message: str, *, fields: Mapping[str, list[str]] | None = None, **more: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fields = dict(fields or {})
        self.more = more

    @classmethod
    def at(cls, field: str, words: str, *, code: str = "invalid", **more: Any) -> Self:
        """One field is wrong. `words` say by themselves what: they are the message, and `fields` says where."""
        return cls(code, words, fields={field: [words]}, **more)

    @classmethod
    def of(cls, faults: Mapping[str, list[str]]) -> Self:
        """Several may be wrong; the message is the first. That of a part within a field (`plan.0.agent`) names its
        place: a person sees no such field."""
        place, words = next(iter(faults.items()))
        return cls("invalid", f"{place}: {words[0]}" if "." in place else words[0], fields=faults)

    def as_error(self) -> dict[str, Any]:
        """The inner object of the API's error shape."""
        return error_object(self.code, self.message, fields=self.fields, **self.more)


class NotThere(Refused):
    """What does not exist and what belongs to somebody else are told apart by nothing."""

    status = 404

    def __init__(self) -> None:
        super().__init__("not_found", _("There is nothing here that you may see. Check the address and its id."))


class NotAllowed(Refused):
    """They may see it, and it is not theirs to change."""

    status = 403


class Conflict(Refused):
    """It would contradict the present state."""

    status = 409


class Gone(Refused):
    """It was there, it is known what became of it, and it does not come back."""

    status = 410


class TooMuch(Refused):
    """Later perhaps; after `retry_after_s`, where that is known."""

    status = 429

    def __init__(self, code: str, message: str, *, retry_after_s: int | None = None, **more: Any) -> None:
        super().__init__(code, message, **more)
        self.retry_after_s = retry_after_s

    def as_error(self) -> dict[str, Any]:
        shown = super().as_error()
        return {**shown, "retry_after_s": self.retry_after_s} if self.retry_after_s else shown


def error_object(
    code: str, message: str, *, fields: Mapping[str, list[str]] | None = None, **more: Any
) -> dict[str, Any]:
    shown: dict[str, Any] = {"code": code, "message": message}
    if fields:
        shown["fields"] = dict(fields)
    return {**shown, **more}
