"""What this app keeps of a person: the account itself, its tokens, where they are signed in, their exports."""

from uuid import UUID

from allauth.mfa.models import Authenticator
from django.utils.translation import gettext_lazy as _

from hyperagent.accounts import exporting
from hyperagent.accounts.archive import Archive
from hyperagent.accounts.closing import pseudonym
from hyperagent.accounts.letter_models import Letter
from hyperagent.accounts.models import ApiToken, SignIn, User, UserMeter, UserQuota
from hyperagent.accounts.people_models import Invitation
from hyperagent.accounts.personal import PersonalPart
from hyperagent.accounts.sign_on_models import ProviderIdentity
from hyperagent.audit.forgetting import forget
from hyperagent.lib.times import iso


class AccountPart(PersonalPart):
    name = "accounts"
    goes = (
        _("Name, e-mail address and password; every browser is signed out"),
        _("API tokens, which stop at once"),
        _("Second factors, and what links the account to the provider of single sign-on"),
        _("Data exports"),
    )

    def write(self, user_id: UUID, archive: Archive) -> None:
        user = User.objects.get(pk=user_id)
        archive.json(
            "profile.json",
            {
                "id": user.pk,
                "email": user.email,
                "name": user.display_name,
                "roles": user.roles(),
                "groups": list(user.groups.values_list("name", flat=True)),
                "theme": user.theme,
                "language": user.language or None,
                "time_zone": user.time_zone or "UTC",
                "joined": iso(user.date_joined),
                "last_signed_in": iso(user.last_login),
            },
        )
        archive.rows("tokens.json", (_token(token) for token in ApiToken.objects.owned_by(user).iterator()))
        archive.rows(
            "second_factors.json", (_factor(row) for row in Authenticator.objects.filter(user=user).iterator())
        )
        archive.rows("sign_on.json", (_identity(row) for row in ProviderIdentity.objects.filter(user=user).iterator()))
        archive.rows("sign_ins.json", (_sign_in(row) for row in SignIn.objects.filter(user=user).iterator()))

    def erase(self, user_id: UUID) -> int:
        tokens, _by_model = ApiToken.objects.filter(user=user_id).delete()
        sign_ins, _by_model = SignIn.objects.filter(user=user_id).delete()
        letters, _by_model = Letter.objects.filter(user=user_id).delete()
        meters, _by_model = UserMeter.objects.filter(user=user_id).delete()
        quotas, _by_model = UserQuota.objects.filter(user=user_id).delete()
        ways_in = _ways_in_erased(user_id)
        return ways_in + tokens + sign_ins + letters + meters + quotas + exporting.erase(user_id) + _forgotten(user_id)


def _ways_in_erased(user_id: UUID) -> int:
    factors: int = Authenticator.objects.filter(user=user_id).delete()[0]
    return factors + ProviderIdentity.objects.filter(user=user_id).delete()[0]


def _forgotten(user_id: UUID) -> int:
    """What was done stays in the audit log, by a deleted user."""
    user = User.objects.get(pk=user_id)
    came_by = Invitation.objects.filter(email=user.email)
    named = forget(user_id, name=pseudonym(user_id), invitations=came_by.values_list("pk", flat=True))
    return named or came_by.delete()[0]


def _token(token: ApiToken) -> dict[str, object]:
    return {
        "name": token.name,
        "scopes": token.scopes,
        "created_at": iso(token.created_at),
        "expires_at": iso(token.expires_at),
        "last_used_at": iso(token.last_used_at),
        "revoked_at": iso(token.revoked_at),
    }


def _factor(row: Authenticator) -> dict[str, object]:
    """Without its secret: who has the file shall not have the factor."""
    name = row.data.get("name")
    return {"kind": row.type, "name": name, "since": iso(row.created_at), "last_used_at": iso(row.last_used_at)}


def _identity(row: ProviderIdentity) -> dict[str, object]:
    return {"issuer": row.issuer, "subject": row.subject, "email": row.email, "since": iso(row.linked_at)}


def _sign_in(row: SignIn) -> dict[str, object]:
    return {"browser": row.browser, "address": row.address, "since": iso(row.signed_in_at)}
