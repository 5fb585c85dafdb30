"""The arguments of a server's tool: a Pydantic model, as every tool here has one, that reads by a JSON schema. Pure."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar, Final, Self

from pydantic import ConfigDict, RootModel, ValidationError, create_model, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from hyperagent.lib import json_schemas

FAULTS: Final = 20


class ServerArguments(RootModel[dict[str, Any]]):
    """Base of the arguments of all servers' tools. `parameters`: a schema as `definitions.usable_schema` gives it."""

    model_config = ConfigDict(frozen=True)

    parameters: ClassVar[Mapping[str, Any]] = {"type": "object", "properties": {}}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        faults = list(islice(_faults(self.root, self.parameters), FAULTS))
        if faults:
            raise ValidationError.from_exception_data(type(self).__name__, faults)
        return self

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        return dict(cls.parameters)


def arguments_by(parameters: Mapping[str, Any], *, name: str) -> type[ServerArguments]:
    """The model for a tool of this name."""
    model = create_model(f"{name}_arguments", __base__=ServerArguments)
    model.parameters = parameters
    return model


def _faults(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
    try:
        for misfit in json_schemas.misfits(arguments, schema):
            yield from _told(misfit)
    except json_schemas.Uncheckable as error:
        yield _fault((), f"cannot be checked: {error.kind}", arguments)


def _told(misfit: Any) -> Iterator[InitErrorDetails]:
    place = tuple(misfit.absolute_path)
    if misfit.validator == "required":
        for name in (one for one in misfit.validator_value if one not in misfit.instance):
            yield InitErrorDetails(type="missing", loc=(*place, name), input=misfit.instance)
    elif misfit.validator == "additionalProperties" and misfit.validator_value is False:
        for name in sorted(set(misfit.instance) - set(misfit.schema.get("properties", ()))):
            yield InitErrorDetails(type="extra_forbidden", loc=(*place, name), input=misfit.instance[name])
    else:
        limit = str(misfit.validator_value)[:200]
        yield _fault(place, f"has to fit {misfit.validator}: {limit}", misfit.instance)


def _fault(place: tuple[str | int, ...], words: str, value: Any) -> InitErrorDetails:
    # Braces would be read as the places of values.
    return InitErrorDetails(
        type=PydanticCustomError("json_schema", "{words}", {"words": words}), loc=place, input=value
    )
