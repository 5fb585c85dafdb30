"""Columns that hold one word of an enumeration."""

from enum import StrEnum


def choices(values: type[StrEnum]) -> list[tuple[str, str]]:
    return [(value.value, value.value) for value in values]
