"""Server-sent events: where one ends, whatever the chunks in which the bytes come. Knows nothing of what they say."""

from hyperagent.lib.llm.wire.faults import WireFault


class EventSplitter:
    """Feed it bytes, it gives the `data` of each finished event. Comments, `event:`, `id:` and `retry:` are skipped:
    every provider repeats in the data what they say."""

    __slots__ = ("_data", "_limit_bytes", "_rest", "_seen_bytes")

    def __init__(self, *, limit_bytes: int) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._limit_bytes = limit_bytes
        self._seen_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Raises WireFault when the stream is larger than any answer may be."""
        self._seen_bytes += len(chunk)
        if self._seen_bytes > self._limit_bytes:
            raise WireFault(f"the stream is larger than {self._limit_bytes} bytes")
        lines = (self._rest + chunk).split(b"\n")
        self._rest = lines.pop()
        return self._events(lines)

    def finish(self) -> list[bytes]:
        """What is left when the stream ends; some servers leave out the last empty line."""
        events = self._events([self._rest, b""])
        self._rest = b""
        return events

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events = []
        for raw in lines:
            line = raw[:-1] if raw.endswith(b"\r") else raw
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
            elif not line and self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data = []
        return events
