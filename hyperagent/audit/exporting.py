"""The log as a file, CSV or JSON Lines, of any size. That it was taken away is an event of the log itself."""

from collections.abc import AsyncIterator, Mapping
from enum import StrEnum

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from hyperagent.audit import reading, shapes
from hyperagent.audit.kinds import AuditKind
from hyperagent.audit.models import AuditEvent
from hyperagent.audit.recording import JSON, Actor, record
from hyperagent.audit.sealing import seal


class Form(StrEnum):
    CSV = "csv"
    JSON_LINES = "jsonl"


_TYPES = {Form.CSV: "text/csv", Form.JSON_LINES: "application/jsonl"}


def export(rows: QuerySet[AuditEvent], form: Form, *, by: Actor, filters: Mapping[str, JSON]) -> StreamingHttpResponse:
    """What is in the log now and fits, oldest first. `filters`: how it was narrowed down, for the event."""
    until = seal()
    record(AuditKind.AUDIT_EXPORTED, actor=by, details={"form": form.value, "until": until, "filters": dict(filters)})
    response = StreamingHttpResponse(_parts(rows, form, until), content_type=f"{_TYPES[form]}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="audit.{form}"'
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


async def _parts(rows: QuerySet[AuditEvent], form: Form, until: int) -> AsyncIterator[bytes]:
    if form is Form.CSV:
        yield shapes.csv_head().encode()
    async for lot in reading.lots(rows, until=until):
        if form is Form.CSV:
            yield shapes.csv_lines(lot).encode()
        else:
            yield "".join(f"{shapes.json_line(row)}\n" for row in lot).encode()
