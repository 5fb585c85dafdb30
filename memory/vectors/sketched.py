"""A vector as a sketch: two bits a number, so that very many are compared with a question in little time. Says what a
sketch is, and how the nearest are looked for among them, both in SQL; makes none.

A number is on one of four levels: of three bits, each says whether it is above a step, and together they count to its
level. Of a question each number is on one of eight levels, in three planes of bits. The inner product of the levels
follows from how many bits differ, plane by plane. Sixteen sketches lie in a row, since a row costs more than to compare
what is in it.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

A_ROW: Final = 16
COLUMNS: Final = tuple(f"s{number}" for number in range(A_ROW))
"""Of a row of `VectorSketch`."""
# The steps that cut a normal distribution into four and into eight with the least error. A number of a vector of unit
# length and n numbers is one of such a distribution, of a width of 1 / sqrt(n), if nothing is known of it.
_STEPS: Final = (-0.9957, 0.0, 0.9957)
_ASKED_STEP: Final = 0.586
_PLANES: Final = 3
_ROOM: Final = 4_000
"""Bytes of a row, two of which then lie on a page."""
_FAR: Final = "(k.{0} <~> a.p0) + 2.0::float8 * ((k.{0} <~> a.p1) + 2.0::float8 * (k.{0} <~> a.p2))"
_ALL_FAR: Final = ", ".join(f"{_FAR.format(column)} AS {column}" for column in COLUMNS)
_ALL: Final = ", ".join(COLUMNS)
_ASKED: Final = ", ".join(f"%(plane{plane})s::varbit AS p{plane}" for plane in range(_PLANES))
# OFFSET 0: what is far is reckoned once.
CANDIDATES: Final = f"""
    best AS MATERIALIZED (
        SELECT keys, ARRAY[{_ALL}] AS far, least FROM (
            SELECT *, LEAST({_ALL}) AS least FROM (
                SELECT k.keys, {_ALL_FAR} FROM memory_vectorsketch k, (SELECT {_ASKED}) a
                 WHERE k.model = %(model)s AND k.owner_id = {{owner}} AND {{wanted}} > 0 {{seen}} OFFSET 0) compared
             ORDER BY least LIMIT {{wanted}}) nearest),
    candidate AS MATERIALIZED (
        SELECT key, min(far) AS far FROM (SELECT unnest(keys) AS key, unnest(far) AS far FROM best) one
         WHERE far <= (SELECT CASE WHEN count(*) < {{wanted}} THEN 'Infinity' ELSE max(least) END FROM best)
         GROUP BY key ORDER BY 2 LIMIT {{wanted}})
"""
"""For WITH: `candidate (key, far)`, the chunks of an owner whose sketches are nearest to the question's, so many as are
`wanted`; `seen` may say of which sketches `k`. What else it has places for, `asked` gives. They stand in the first
rows, so many at most; and if there are so many, none of them is farther than the first of the last row."""


def sketch_of(embedding: str, dimensions: int) -> str:
    """SQL for the sketch of a vector of unit length, which `embedding` is SQL for."""
    steps = (f"array_fill({step / math.sqrt(dimensions):.6f}::real, ARRAY[{dimensions}])" for step in _STEPS)
    return " || ".join(f"binary_quantize({embedding} - {step}::vector::halfvec)" for step in steps)


def sketches_a_row(dimensions: int) -> int:
    """How many there is room for."""
    return min(A_ROW, _ROOM // (len(_STEPS) * dimensions // 8 + 16))


def asked(query: Sequence[float]) -> dict[str, Any]:
    """The planes of a question of unit length, for the places of CANDIDATES."""
    step = _ASKED_STEP / math.sqrt(len(query))
    middle = 2 ** (_PLANES - 1)
    levels = [min(max(math.floor(value / step) + middle, 0), 2 * middle - 1) for value in query]
    planes = ("".join("1" if level >> plane & 1 else "0" for level in levels) for plane in range(_PLANES))
    return {f"plane{number}": plane * len(_STEPS) for number, plane in enumerate(planes)}
