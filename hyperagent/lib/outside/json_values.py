"""How many values stand in JSON that comes bit by bit, without reading it: what reads it takes time by their number,
and by far the most where they are not what it expects. Pure.
"""

import re
from typing import Final

_ESCAPED: Final = re.compile(rb"\\[^\n]")
# Whatever may end a line of server-sent events, and may not stand in a string of JSON.
_LINE_ENDS: Final = bytes.maketrans(b"\r\x0b\x0c\x1c\x1d\x1e", b"\n" * 6)
_BEFORE_A_VALUE: Final = (b",", b"[", b"{")


class ValueCounter:
    """`found`: so far. Also of JSON in server-sent events: no string goes on in another line."""

    def __init__(self) -> None:
        self.found = 0
        self._in_text = False
        self._rest = b""

    def take(self, piece: bytes) -> int:
        """Of many lines each counts as a value. Gives what was found until now."""
        whole = self._rest + piece.translate(_LINE_ENDS)
        # An escape may be cut in two.
        self._rest = b"\\" if (len(whole) - len(whole.rstrip(b"\\"))) % 2 else b""
        lines = _ESCAPED.sub(b"", whole.removesuffix(self._rest)).split(b"\n")
        for number, line in enumerate(lines):
            if number:
                self._in_text = False
                self.found += 1
            for part in line.split(b'"'):
                if not self._in_text:
                    self.found += sum(map(part.count, _BEFORE_A_VALUE))
                self._in_text = not self._in_text
            # One part more than there are quotes.
            self._in_text = not self._in_text
        return self.found
