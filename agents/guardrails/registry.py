"""Finds the scanners: every module of `agents.guardrails.scanners` that has a `SCANNER`."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from agents.guardrails import scanners
from agents.guardrails.scanner import Place, Scanner


class BadScanner(Exception):
    """A file among the scanners is not one. The process does not start."""


@cache
def found_scanners() -> Mapping[str, Scanner]:
    """By name, in the order in which they are asked. Raises BadScanner."""
    found: dict[str, Scanner] = {}
    for module in pkgutil.iter_modules(scanners.__path__, f"{scanners.__name__}."):
        scanner = getattr(importlib.import_module(module.name), "SCANNER", None)
        if not isinstance(scanner, Scanner):
            raise BadScanner(f"{module.name} has no SCANNER: make one with agents.guardrails.scanner.Scanner")
        if not scanner.places or scanner.name in found:
            raise BadScanner(f"{module.name}: the scanner '{scanner.name}' has no place, or its name is taken")
        found[scanner.name] = scanner
    return {one.name: one for one in sorted(found.values(), key=lambda one: (one.order, one.name))}


@cache
def scanners_for(place: Place) -> tuple[Scanner, ...]:
    return tuple(one for one in found_scanners().values() if place in one.places)
