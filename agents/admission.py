"""Whether a person may have another run: how often they asked lately, how many of theirs are going, and whether their
budgets are used up. The rules are in `hyperagent.accounts.quotas` and `hyperagent.accounts.budgets`.
"""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from agents.usage.purses import refuse_if_used_up
from hyperagent.accounts.metering import amounts_sql, asked_for, taking, too_much
from hyperagent.accounts.quotas import WAIT_FOR_A_RUN_S, Quota, Work
from hyperagent.lib import rows
from hyperagent.lib.refusals import NotAllowed

# Those that wait for people are not counted: they hold nothing. Stops counting where it is enough.
# The account's row is shared with everybody who starts something; who deactivates the person waits for them, and they
# for him.
_GOING: Final = f"""
    WITH most AS ({amounts_sql(1)})
    SELECT most.amount, (SELECT count(*) FROM (
        SELECT FROM agents_execution WHERE user_id = %(user)s AND status IN ('pending', 'running')
         LIMIT (SELECT amount FROM most)
    ) AS going)
    FROM accounts_user u, most WHERE u.id = %(user)s AND u.is_active FOR SHARE OF u
"""
_IS_ACTIVE: Final = "SELECT FROM accounts_user WHERE id = %(user)s AND is_active FOR SHARE"


def admit(user_id: UUID) -> None:
    """Counts one more run, or raises TooMuch; NotAllowed where the person was deactivated. Two statements, and a third
    where anybody has a budget, in the transaction that writes the run: the person's other runs wait for its end, so
    that of many at once no more get in than one after another; and whoever deactivates them at the same instant finds
    the run and stops it, or was before it and it is not written.
    """
    admitting(user_id)()


def admitting(user_id: UUID) -> Callable[[], None]:
    """The same in two halves, for who writes the run before the answer is there (`rows.together`): it is asked for, and
    what is called then reads it. Where that raises, nothing that was written meanwhile may be stored."""
    refuse_if_used_up(user_id)
    taken = taking(user_id, Work.RUN)
    going = rows.execute(_GOING, {"user": user_id, **asked_for([Quota.RUNS_AT_ONCE])})

    def admitted() -> None:
        taken()
        at_once, count = _of_an_active(going)
        if count >= at_once > 0:
            raise too_much(Quota.RUNS_AT_ONCE, at_once, WAIT_FOR_A_RUN_S, is_told=False)

    return admitted


def let_in(user_id: UUID) -> None:
    """The same for what runs in a person's name by itself, which is not counted. Raises NotAllowed. One statement."""
    _of_an_active(rows.execute(_IS_ACTIVE, {"user": user_id}))


def _of_an_active(asked: Any) -> Any:
    found = asked.fetchone()
    if found is None:
        raise NotAllowed("deactivated", _("This account is deactivated: nothing begins in its name."))
    return found
