"""The profile (S155, S156): what the fields are, and how memories fill them. Pure."""

from collections.abc import Iterable
from typing import Any, Final, Protocol

# Marks a text, and needs no settings yet.
from django.utils.translation.trans_null import gettext_noop

from memory.kinds import MemoryKind, ProfileField

CRITICAL: Final = (
    ProfileField.USER_NAME,
    ProfileField.COMPANY_NAME,
    ProfileField.JOB_TITLE,
    ProfileField.RECENT_PROJECTS,
)
PREFERENCES: Final = (ProfileField.TONE, ProfileField.DETAIL_LEVEL, ProfileField.LANGUAGE)
SEVERAL: Final = frozenset({ProfileField.RECENT_PROJECTS})
"""The fields that hold several values at a time; a new value of another replaces the old one."""
PROJECTS: Final = 5
NAMES: Final = {
    ProfileField.USER_NAME: gettext_noop("Name"),
    ProfileField.COMPANY_NAME: gettext_noop("Company"),
    ProfileField.JOB_TITLE: gettext_noop("Job title"),
    ProfileField.RECENT_PROJECTS: gettext_noop("Recent projects"),
    ProfileField.TONE: gettext_noop("Tone"),
    ProfileField.DETAIL_LEVEL: gettext_noop("Level of detail"),
    ProfileField.LANGUAGE: gettext_noop("Language"),
}
"""For people."""


class Filled(Protocol):
    """A memory that may fill a field."""

    @property
    def field(self) -> Any: ...
    @property
    def text(self) -> str: ...


def profile_of(memories: Iterable[Filled]) -> dict[str, dict[str, Any]]:
    """{"critical": {…}, "preferences": {…}} with the fields that are known. `memories`: newest first."""
    found: dict[ProfileField, list[str]] = {}
    for memory in memories:
        if memory.field:
            found.setdefault(ProfileField(memory.field), []).append(memory.text)
    return {"critical": _part(found, CRITICAL), "preferences": _part(found, PREFERENCES)}


def whole_profile_of(memories: Iterable[Filled]) -> dict[str, dict[str, Any]]:
    """The same with every field: one that is not known is None, and the projects are none."""
    known = profile_of(memories)
    return {
        part: {name.value: known[part].get(name.value, [] if name in SEVERAL else None) for name in names}
        for part, names in (("critical", CRITICAL), ("preferences", PREFERENCES))
    }


def _part(found: dict[ProfileField, list[str]], fields: Iterable[ProfileField]) -> dict[str, Any]:
    return {
        name.value: found[name][:PROJECTS] if name in SEVERAL else found[name][0] for name in fields if name in found
    }


def kind_of(field: ProfileField) -> MemoryKind:
    return MemoryKind.PREFERENCE if field in PREFERENCES else MemoryKind.FACT
