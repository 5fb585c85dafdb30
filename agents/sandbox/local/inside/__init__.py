"""What runs inside a box, as its first process: the keeper. It is carried in as one archive and sees nothing else of
the product, so these files import each other and the standard library only.

Of that they import what an interpreter has in itself. `socket`, `json`, `enum`, `dataclasses`, `typing`, `pathlib` and
what those bring were most of what a keeper took to start, and every box pays for that. `TYPE_CHECKING` is a name that a
type checker takes for true.
"""
