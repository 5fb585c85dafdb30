"""What notices keep of a person: their webhooks, the mails that were sent to them, and which mails they want."""

from uuid import UUID

from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts.archive import Archive
from hyperagent.accounts.personal import PersonalPart
from hyperagent.lib.times import iso
from hyperagent.notices.models import Delivery, Endpoint, Mail, Preference

AT_ONCE = 500


class NoticesPart(PersonalPart):
    name = "notices"
    goes = (_("Webhooks with their log, and the choice of mails"),)

    def write(self, user_id: UUID, archive: Archive) -> None:
        own = Endpoint.objects.filter(user=user_id, deleted_at=None)
        archive.rows("webhooks.json", (_endpoint(endpoint) for endpoint in own.iterator()))
        wanted = dict(Preference.objects.filter(user=user_id).values_list("kind", "wanted"))
        if wanted:
            archive.json("notifications.json", wanted)

    def stop(self, user_id: UUID) -> None:
        Endpoint.objects.filter(user=user_id, deleted_at=None).update(deleted_at=Now())

    def erase(self, user_id: UUID) -> int:
        lot = Delivery.objects.filter(endpoint__user=user_id).values_list("pk", flat=True)[:AT_ONCE]
        if gone := Delivery.objects.filter(pk__in=list(lot)).delete()[0]:
            return gone
        mails = Mail.objects.filter(user=user_id).values_list("pk", flat=True)[:AT_ONCE]
        if gone := Mail.objects.filter(pk__in=list(mails)).delete()[0]:
            return gone
        preferences, _by_model = Preference.objects.filter(user=user_id).delete()
        endpoints, _by_model = Endpoint.objects.filter(user=user_id).delete()
        return preferences + endpoints


def _endpoint(endpoint: Endpoint) -> dict[str, object]:
    """Without its secret: a file that is fetched is not the place for it."""
    return {
        "url": endpoint.url,
        "events": endpoint.events,
        "enabled": endpoint.enabled,
        "created_at": iso(endpoint.created_at),
    }
