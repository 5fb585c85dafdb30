"""Why nobody was signed in by the provider: a closed list, and what the person reads. Never the provider's own words,
which anybody can put into an address.
"""

from enum import StrEnum
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from hyperagent.lib.refusals import Refused


class Why(StrEnum):
    # On the way there and back.
    AWAY = "away"
    MISCONFIGURED = "misconfigured"
    WRONG_ISSUER = "wrong_issuer"
    DENIED = "denied"
    REFUSED = "refused"
    LOST = "lost"
    EXPIRED = "expired"
    BAD_TOKEN = "bad_token"  # noqa: S105
    CLOCK = "clock"
    # Who it is.
    NO_EMAIL = "no_email"
    UNVERIFIED = "unverified"
    UNVERIFIED_TAKEN = "unverified_taken"
    TAKEN = "taken"
    FOREIGN_DOMAIN = "foreign_domain"
    NO_ACCOUNT = "no_account"
    DEACTIVATED = "deactivated"
    OTHERS = "others"
    SOMEBODY_ELSE = "somebody_else"
    NOT_FRESH = "not_fresh"


SENTENCES: Final = {
    Why.AWAY: gettext_noop("{name} cannot be reached just now. Try again in a moment."),
    Why.MISCONFIGURED: gettext_noop(
        "{name} does not know this installation. An administrator has to correct OIDC_CLIENT_ID, OIDC_CLIENT_SECRET "
        "and the redirect address there."
    ),
    Why.WRONG_ISSUER: gettext_noop(
        "What came back is not from {name} as it is configured here. An administrator has to look at OIDC_ISSUER."
    ),
    Why.DENIED: gettext_noop("{name} did not let you in, or you went back. Try again, or ask an administrator there."),
    Why.REFUSED: gettext_noop("{name} ended the sign-in with an error. Try again; if it stays, tell an administrator."),
    Why.LOST: gettext_noop("This was begun in another browser, was used before, or took too long. Begin again."),
    Why.EXPIRED: gettext_noop("That took too long, or was used before. Begin again."),
    Why.BAD_TOKEN: gettext_noop(
        "What {name} sent cannot be trusted, so nobody was signed in. Try again; if it stays, tell an administrator."
    ),
    Why.CLOCK: gettext_noop(
        "The clocks of {name} and of this installation differ, or that took too long. Try again; if it stays, an "
        "administrator has to set the clock."
    ),
    Why.NO_EMAIL: gettext_noop("{name} says no e-mail address for you, and an account here needs one."),
    Why.UNVERIFIED: gettext_noop(
        "{name} has not verified your e-mail address. Have it verified there, then sign in again."
    ),
    Why.UNVERIFIED_TAKEN: gettext_noop(
        "There is an account with your e-mail address, and {name} has not verified that the address is yours. Sign in "
        "with your password, then link {name} in Settings > Security."
    ),
    Why.TAKEN: gettext_noop(
        "There is an account with your e-mail address already. If it is yours, sign in with your password, then link "
        "{name} in Settings > Security."
    ),
    Why.FOREIGN_DOMAIN: gettext_noop("Your e-mail address is of none of the domains that may sign in here."),
    Why.NO_ACCOUNT: gettext_noop("There is no account here for you. Ask an administrator for one."),
    Why.DEACTIVATED: gettext_noop("Your account here is deactivated. Ask an administrator."),
    Why.OTHERS: gettext_noop("This sign-in at {name} belongs to another account here. Sign in there as somebody else."),
    Why.SOMEBODY_ELSE: gettext_noop("At {name} you are signed in as somebody else. Sign in there as yourself."),
    Why.NOT_FRESH: gettext_noop("{name} did not ask you anew who you are. Sign out there, then try again."),
}


class NotSignedOn(Refused):
    """`detail`: for the log, never shown."""

    status = 403

    def __init__(self, why: Why, *, name: str, detail: str = "") -> None:
        super().__init__(f"sso_{why}", _(SENTENCES[why]).format(name=name))
        self.why = why
        self.detail = detail
