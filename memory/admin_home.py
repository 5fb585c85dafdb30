"""How reading and embedding of documents stands, on the admin's home. For administrators."""

from django.db import connection
from django.http import HttpRequest
from django.utils.translation import gettext as _

from hyperagent.lib.admin_home import Line, Panel, panel
from hyperagent.lib.languages import grouped
from hyperagent.lib.read_only_admin import list_address
from memory.embedding.asking import embedder_lives
from memory.kinds import DocumentStatus
from memory.models import Connector, Document, EmbeddingModel


@panel(position=50)
def documents(request: HttpRequest) -> Panel | None:
    if not (request.user.is_active and request.user.is_staff):
        return None
    lives = embedder_lives()
    waiting, failing, problem = _standing()
    note = problem or ("" if lives else _("Searches go by words alone. Start `manage.py worker`."))
    embedding = list_address(Document, status__exact=DocumentStatus.EMBEDDING.value)
    return Panel(
        "documents",
        _("Documents"),
        [
            Line(
                _("Embedder"),
                _("running") if lives else _("silent"),
                list_address(EmbeddingModel),
                "warn" if problem or not lives else "good",
                note,
            ),
            Line(_("Documents to embed"), grouped(waiting), embedding),
            Line(
                _("Connectors that fail"),
                grouped(failing),
                list_address(Connector, is_failing__exact="1"),
                "bad" if failing else "good",
            ),
        ],
    )


def _standing() -> tuple[int, int, str]:
    """Documents that wait for vectors, by a partial index; failing connectors, of which there are few; why the current
    model makes no vectors, if it makes none. One query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT count(*) FROM memory_document WHERE status = 'embedding'),"
            " (SELECT count(*) FROM memory_connector WHERE is_failing),"
            " coalesce((SELECT problem FROM memory_embeddingmodel ORDER BY chosen_at DESC LIMIT 1), '')"
        )
        waiting, failing, problem = cursor.fetchone()
    return waiting, failing, problem
