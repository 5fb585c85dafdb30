"""Whether a person is remembered at all."""

from django.utils import timezone

from hyperagent.accounts.models import User
from memory.models import MemorySwitch


def is_on(user: User) -> bool:
    row = MemorySwitch.objects.filter(user=user).first()
    return row is None or row.is_on


def turn(user: User, *, on: bool) -> None:
    """Off: nothing is told and nothing is learned from now on. What is known stays until it is forgotten."""
    MemorySwitch.objects.update_or_create(user=user, defaults={"is_on": on, "changed_at": timezone.now()})
