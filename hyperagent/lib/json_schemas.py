"""The door to jsonschema: which values fit a schema that somebody else wrote. Most processes never ask, and are spared
its 3 MB and 45 ms of import.
"""

from collections.abc import Iterator, Mapping
from typing import Any


class NoSchema(Exception):
    """It is no JSON schema."""


class Uncheckable(Exception):
    """The schema refers to what is not there, or cannot be followed. `kind`: the error's class."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(kind)


def check(schema: Mapping[str, Any]) -> None:
    """Raises NoSchema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError, TypeError, ValueError) as error:
        raise NoSchema from error


def misfits(value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    """Each place that does not fit, as jsonschema's `ValidationError`. Raises Uncheckable."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        # A registry of its own, which is empty: no reference in a schema is ever fetched.
        yield from Draft202012Validator(schema, registry=Registry()).iter_errors(value)
    except (SchemaError, Unresolvable, RecursionError, TypeError, ValueError) as error:
        raise Uncheckable(type(error).__name__) from error
