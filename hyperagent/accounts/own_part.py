"""What this app keeps of a person: the account itself, its tokens, where they are signed in, their exports."""

from uuid import UUID

from django.utils.translation import gettext_lazy as _

from hyperagent.accounts import exporting
from hyperagent.accounts.archive import Archive
from hyperagent.accounts.models import ApiToken, SignIn, User
from hyperagent.accounts.personal import PersonalPart
from hyperagent.lib.times import iso


class AccountPart(PersonalPart):
    name = "accounts"
    goes = (
        _("Your name, your e-mail address and your password; you are signed out everywhere"),
        _("Your API tokens, which stop at once"),
        _("Your data exports"),
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
        archive.rows("sign_ins.json", (_sign_in(row) for row in SignIn.objects.filter(user=user).iterator()))

    def erase(self, user_id: UUID) -> int:
        tokens, _by_model = ApiToken.objects.filter(user=user_id).delete()
        sign_ins, _by_model = SignIn.objects.filter(user=user_id).delete()
        return tokens + sign_ins + exporting.erase(user_id)


def _token(token: ApiToken) -> dict[str, object]:
    return {
        "name": token.name,
        "scopes": token.scopes,
        "created_at": iso(token.created_at),
        "expires_at": iso(token.expires_at),
        "last_used_at": iso(token.last_used_at),
        "revoked_at": iso(token.revoked_at),
    }


def _sign_in(row: SignIn) -> dict[str, object]:
    return {"browser": row.browser, "address": row.address, "since": iso(row.signed_in_at)}
