"""How the house stands, on the admin's home: the queue, the database, the disk, the providers of models. Calls nobody
outside.
"""

import os
import shutil

from django.conf import settings
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext as _

from hyperagent.lib.admin_home import Line, Panel, panel
from hyperagent.lib.languages import grouped
from hyperagent.lib.llm.config import BadSettings, LLMSettings
from hyperagent.lib.queue_reading import standing

LOW_DISK_BYTES = 1 << 30
LATE_AFTER_S = 60


@panel(position=60)
def house(request: HttpRequest) -> Panel | None:
    if not (request.user.is_active and request.user.is_staff):
        return None
    now = standing()
    jobs = reverse("admin:jobs")
    late = now.oldest_s > LATE_AFTER_S
    free_bytes = shutil.disk_usage(_existing_data_folder()).free
    low = free_bytes < LOW_DISK_BYTES
    return Panel(
        "house",
        _("Operations"),
        [
            Line(
                _("Background jobs waiting"),
                grouped(now.waiting),
                jobs,
                "bad" if late else "good",
                _("the oldest for {seconds} s").format(seconds=round(now.oldest_s)) if late else "",
            ),
            Line(_("Background jobs failed in 24 hours"), grouped(now.failed_today), f"{jobs}#failed",
                 "bad" if now.failed_today else "good"),
            Line(_("Worker of background jobs"), _("connected") if now.is_served else _("none"), "",
                 "good" if now.is_served else "bad", "" if now.is_served else _("Start `manage.py worker`.")),
            *_providers(),
            Line(_("Database"), filesizeformat(now.database_bytes)),
            Line(_("Disk"), _("{size} free").format(size=filesizeformat(free_bytes)), "", "bad" if low else "",
                 _("Make room, or move DATA_DIR.") if low else ""),
        ],
    )  # fmt: skip


def _providers() -> list[Line]:
    """As they are configured, without a call. What they last answered with is among what failed."""
    try:
        found = LLMSettings.from_env(os.environ)
    except BadSettings as error:
        return [Line(_("Model providers"), _("cannot be read"), "", "bad", "; ".join(map(str, error.faults)))]
    if not found.providers:
        way = _("Set a provider's key, or start with `manage.py up`, which brings a small model.")
        return [Line(_("Model providers"), _("none"), "", "bad", way)]
    names = ", ".join(provider.name for provider in found.providers)
    if found.bundled_only:
        note = _("Only the small model that comes with it answers.")
        return [Line(_("Model providers"), _("built-in"), "", "warn", note)]
    return [Line(_("Model providers"), names, "", "good", _("configured"))]


def _existing_data_folder() -> str:
    folder = settings.CONFIG.data_path
    return str(next(path for path in (folder, *folder.parents) if path.exists()))
