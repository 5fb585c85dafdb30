"""Which modules of the page import which, so that a browser need not find out one after the other. Reads files; knows
nothing of what they do. What is imported only when it is needed (`import(…)`) is not of it.
"""

import posixpath
import re
from collections.abc import Callable

# At the beginning of a line, as all of ours and of the vendored ones are written.
_IMPORTED = re.compile(r"""^(?:import|export)\b[^"';]*?(?:\bfrom\s*)?"(\.{1,2}/[^"]+)";?\s*(?://.*)?$""", re.MULTILINE)


def modules_of(entry: str, read: Callable[[str], str]) -> tuple[str, ...]:
    """`entry` and all that it needs before it can run, each once, those nearest to it first. `read` gives the text of
    a module by its name.
    """
    found = [entry]
    for name in found:
        folder = posixpath.dirname(name)
        needed = (posixpath.normpath(posixpath.join(folder, other)) for other in _IMPORTED.findall(read(name)))
        found += [other for other in dict.fromkeys(needed) if other not in found]
    return tuple(found)
