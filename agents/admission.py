"""Whether a person may have another run: how often they asked lately, how many of theirs are going, and whether their
budgets are used up. The rules are in `hyperagent.accounts.quotas` and `hyperagent.accounts.budgets`.
"""

from typing import Final
from uuid import UUID

from django.db import connection
from django.utils.translation import gettext as _

from agents.usage.purses import refuse_if_used_up
from hyperagent.accounts.metering import take, too_much
from hyperagent.accounts.quotas import WAIT_FOR_A_RUN_S, Quota, Work
from hyperagent.lib.refusals import NotAllowed

# Those that wait for people are not counted: they hold nothing. Stops counting where it is enough.
# The account's row is shared with everybody who starts something; who deactivates the person waits for them, and they
# for him.
_GOING: Final = """
    SELECT (SELECT count(*) FROM (
        SELECT FROM agents_execution WHERE user_id = %(user)s AND status IN ('pending', 'running') LIMIT %(enough)s
    ) AS going)
    FROM accounts_user WHERE id = %(user)s AND is_active FOR SHARE
"""


def admit(user_id: UUID) -> None:
    """Counts one more run, or raises TooMuch; NotAllowed where the person was deactivated. Two statements, and a third
    where anybody has a budget, in the transaction that writes the run: the person's other runs wait for its end, so
    that of many at once no more get in than one after another; and whoever deactivates them at the same instant finds
    the run and stops it, or was before it and it is not written.
    """
    refuse_if_used_up(user_id)
    at_once = take(user_id, Work.RUN, also=Quota.RUNS_AT_ONCE)
    if _going(user_id, at_once) >= at_once > 0:
        raise too_much(Quota.RUNS_AT_ONCE, at_once, WAIT_FOR_A_RUN_S, is_told=False)


def let_in(user_id: UUID) -> None:
    """The same for what runs in a person's name by itself, which is not counted. Raises NotAllowed. One statement."""
    _going(user_id, 0)


def _going(user_id: UUID, enough: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_GOING, {"user": user_id, "enough": enough})
        found = cursor.fetchone()
    if found is None:
        raise NotAllowed("deactivated", _("This account is deactivated: nothing begins in its name."))
    return int(found[0])
