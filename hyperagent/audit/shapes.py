"""How an event is told: one JSON object for the API, the files, the stream and the log outside; one line of a table."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from hyperagent.audit.models import AuditEvent
from hyperagent.lib.times import iso

COLUMNS: Final = (
    "number", "at", "kind", "actor_id", "actor_name", "target_type", "target_id", "target_name", "address", "browser",
    "request_id", "details", "hash",
)  # fmt: skip
# What a spreadsheet would take for a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def told(row: AuditEvent) -> dict[str, Any]:
    return {
        "number": row.number,
        "at": iso(row.at),
        "kind": row.kind,
        "actor": {"id": str(row.actor_id), "name": row.actor_name} if row.actor_id else None,
        "target": {"type": row.target_type, "id": row.target_id, "name": row.target_name} if row.target_type else None,
        "address": row.address or None,
        "browser": row.browser or None,
        "request_id": row.request_id or None,
        "details": row.details,
        "hash": bytes(row.hash).hex() if row.hash is not None else None,
    }


def json_line(row: AuditEvent) -> str:
    return json.dumps(told(row), ensure_ascii=False, separators=(",", ":"))


def csv_lines(rows: Iterable[AuditEvent]) -> str:
    return "".join(_written(_cells(row)) for row in rows)


def csv_head() -> str:
    return _written(COLUMNS)


def _cells(row: AuditEvent) -> Iterator[str]:
    for name in COLUMNS:
        value = getattr(row, name)
        if name == "at":
            yield iso(value) or ""
        elif name == "hash":
            yield bytes(value).hex()
        elif name == "details":
            yield json.dumps(value, ensure_ascii=False, sort_keys=True)
        else:
            yield defused("" if value is None else str(value))


def defused(text: str) -> str:
    """As text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _written(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
