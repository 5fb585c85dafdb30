"""A tool's arguments, from its signature: the Pydantic model that reads them and the JSON schema that models get. Pure.

Descriptions are the texts in `Annotated[str, "What to search for"]`; limits are Pydantic's `Field(ge=1)` beside them.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

_LITERAL: Final = ("default", "enum", "const", "examples", "required")
# Tools of connected servers come and go; those of the product are a few dozen.
_KEPT: Final = 1_000


class BadTool(RuntimeError):
    """A tool is not whole; the message names it and what it lacks. The process does not start."""


class Arguments(BaseModel):
    """Base of all tools' arguments: what is not in the signature is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), allow_inf_nan=False)


def arguments_of(function: Callable[..., Awaitable[Any]], *, name: str, first: type) -> type[BaseModel]:
    """The model of all parameters but the first, which has to be a `first`. Raises BadTool."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise BadTool(f"tool '{name}': {error}; its types must be importable where it is defined") from error
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or hints.get(parameters[0].name) is not first:
        raise BadTool(f"tool '{name}': its first parameter must be annotated as {first.__name__}")
    fields = {parameter.name: _field(parameter, hints, tool=name) for parameter in parameters[1:]}
    try:
        model: type[BaseModel] = create_model(f"{name}_arguments", __base__=Arguments, **fields)
        model.model_json_schema()
    except (PydanticUserError, PydanticSchemaGenerationError, NameError) as error:
        raise BadTool(f"tool '{name}': its parameters cannot be described: {str(error).splitlines()[0]}") from error
    parameters_of(model)
    return model


@lru_cache(_KEPT)
def parameters_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of an object, with every reference written out: not every provider follows one."""
    schema = model.model_json_schema()
    found: dict[str, Any] = _tidied(schema, schema.get("$defs", {}), within=(model.__name__,))
    found.pop("description", None)
    return {"properties": {}, **found}


def _field(parameter: inspect.Parameter, hints: Mapping[str, Any], *, tool: str) -> Any:
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise BadTool(f"tool '{tool}': *{parameter.name} cannot be described to a model; name each parameter")
    if parameter.name not in hints:
        raise BadTool(f"tool '{tool}': parameter '{parameter.name}' has no type")
    if parameter.name.startswith("_"):
        raise BadTool(f"tool '{tool}': parameter '{parameter.name}' must not begin with _")
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    return _described(hints[parameter.name]), default


def _described(hint: Any) -> Any:
    """The type with its plain texts as one description."""
    if get_origin(hint) is not Annotated:
        return hint
    base, *notes = get_args(hint)
    texts = [note for note in notes if isinstance(note, str)]
    others = [note for note in notes if not isinstance(note, str)]
    if texts:
        others.append(Field(description=" ".join(texts)))
    for note in others:
        base = Annotated[base, note]
    return base


def _tidied(node: Any, definitions: Mapping[str, Any], *, within: tuple[str, ...]) -> Any:
    """Without titles, which say the names again, and without references. Raises BadTool for a type within itself."""
    if isinstance(node, list):
        return [_tidied(item, definitions, within=within) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        if name in within:
            raise BadTool(f"tool '{within[0].removesuffix('_arguments')}': {name} contains itself; models need an end")
        around = {key: value for key, value in node.items() if key != "$ref"}
        return _tidied({**definitions[name], **around}, definitions, within=(*within, name))
    tidy: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("title", "$defs"):
            continue
        if key == "properties":
            tidy[key] = {name: _tidied(sub, definitions, within=within) for name, sub in value.items()}
        else:
            tidy[key] = value if key in _LITERAL else _tidied(value, definitions, within=within)
    return tidy
