"""Background jobs of notices. Each carries an id or nothing, and finds nothing to do if it comes twice."""

from datetime import timedelta
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from hyperagent.lib.queue import task
from hyperagent.notices import delivering, mailing
from hyperagent.notices.kinds import OPEN
from hyperagent.notices.models import Delivery, Endpoint, Mail

KEPT_DAYS = 90


@task
def deliver(delivery_id: str) -> None:
    delivering.deliver_one(UUID(delivery_id))


@task
def send_mail(mail_id: str) -> None:
    mailing.outgoing.send_one(UUID(mail_id))


@task(every_s=60)
def sweep_deliveries() -> None:
    """What is to be tried again, what waited for an endpoint to recover, and what a lost job was to send."""
    delivering.deliver_due()


@task(every_s=60)
def sweep_mails() -> None:
    mailing.outgoing.send_due()


@task(every_s=86_400)
def prune() -> None:
    """The log is kept for KEPT_DAYS."""
    old = Now() - timedelta(days=KEPT_DAYS)
    Delivery.objects.filter(created_at__lt=old).exclude(status__in=OPEN).delete()
    Endpoint.objects.filter(deleted_at__lt=old).delete()
    Mail.objects.filter(Q(sent_at__isnull=False) | Q(given_up_at__isnull=False), created_at__lt=old).delete()
