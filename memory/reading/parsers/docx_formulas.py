"""The formulas of Word in a line, as one would type them: (a+b)/(2) and x^2, not the letters one after the other."""

from collections.abc import Iterator
from typing import Any, Final

MATH: Final = "http://schemas.openxmlformats.org/officeDocument/2006/math"
_DEEP: Final = 50
_SUM: Final = "∫"
"""What a large operator is that says nothing else."""
_BRACKETS: Final = {"begChr": "(", "sepChr": "|", "endChr": ")"}


def in_a_line(element: Any, depth: int = 0) -> str:
    """Nothing of what is nested deeper than any formula."""
    if depth > _DEEP:
        return ""

    def part(name: str) -> str:
        found = element.find(f"{{{MATH}}}{name}")
        return in_a_line(found, depth + 1) if found is not None else ""

    def said(name: str, otherwise: str) -> str:
        found = next(element.iterchildren(f"{{{MATH}}}{kind}Pr"), None)
        told = found.find(f"{{{MATH}}}{name}") if found is not None else None
        return otherwise if told is None else str(told.get(f"{{{MATH}}}val", ""))

    kind = str(element.tag).rpartition("}")[2]
    match kind:
        case "t":
            line = element.text or ""
        case "f":
            line = f"{_kept(part('num'))}/{_kept(part('den'))}"
        case "sSup" | "sSub" | "sSubSup":
            line = part("e") + _small("_", part("sub")) + _small("^", part("sup"))
        case "limLow" | "limUpp":
            line = part("e") + _small("_", part("lim"))
        case "func":
            line = f"{part('fName')} {part('e')}"
        case "rad":
            line = part("deg") + f"√({part('e')})"
        case "nary":
            line = said("chr", _SUM) + _small("_", part("sub")) + _small("^", part("sup")) + f" {part('e')}"
        case "d":
            begin, between, end = (said(name, sign) for name, sign in _BRACKETS.items())
            inner = (in_a_line(one, depth + 1) for one in element.iterchildren(f"{{{MATH}}}e"))
            line = begin + between.join(inner) + end
        case "m" | "eqArr":
            line = "; ".join(_inner(element, depth))
        case "mr":
            line = ", ".join(_inner(element, depth))
        case _:
            line = "".join(_inner(element, depth))
    return line


def _inner(element: Any, depth: int) -> Iterator[str]:
    for one in element.iterchildren("*"):
        # Neither how it looks, nor what was taken out under review.
        if not str(one.tag).endswith(("Pr", "}del", "}moveFrom")):
            yield in_a_line(one, depth + 1)


def _kept(text: str) -> str:
    """Together, above or below a line."""
    return text if text.isalnum() else f"({text})"


def _small(sign: str, text: str) -> str:
    return f"{sign}{_kept(text)}" if text else ""
