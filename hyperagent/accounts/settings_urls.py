"""The pages of the settings, below `/settings/`; those of notices and of connected servers stand beside them."""

from django.urls import path

from hyperagent.accounts import data_views, settings_views
from hyperagent.accounts.mfa import views as second_factors
from hyperagent.accounts.sso.views import unlink

app_name = "settings"
urlpatterns = [
    path("", settings_views.Overview.as_view(), name="overview"),
    path("profile/", settings_views.Profile.as_view(), name="profile"),
    path("appearance/", settings_views.Appearance.as_view(), name="appearance"),
    path("language/", settings_views.Language.as_view(), name="language"),
    path("security/", settings_views.Security.as_view(), name="security"),
    path("security/sign-ins/others/end/", settings_views.EndOtherSignIns.as_view(), name="end_other_sign_ins"),
    path("security/sign-ins/<uuid:sign_in_id>/end/", settings_views.EndSignIn.as_view(), name="end_sign_in"),
    path("security/confirm/", second_factors.Confirm.as_view(), name="confirm"),
    path("security/confirm/passkey/", second_factors.ConfirmByPasskey.as_view(), name="confirm_by_passkey"),
    path("security/confirm/passkey/ask/", second_factors.AskForPasskey.as_view(), name="ask_to_confirm"),
    path("security/second-factor/", second_factors.SecondFactor.as_view(), name="second_factor"),
    path("security/second-factor/app/", second_factors.AddApp.as_view(), name="add_app"),
    path("security/second-factor/passkey/", second_factors.AddPasskey.as_view(), name="add_passkey"),
    path("security/second-factor/codes/", second_factors.RecoveryCodes.as_view(), name="recovery_codes"),
    path("security/second-factor/<int:factor_id>/remove/", second_factors.Remove.as_view(), name="remove_factor"),
    path("security/sign-on/<uuid:identity_id>/unlink/", unlink, name="unlink"),
    path("connections/", settings_views.Connections.as_view(), name="connections"),
    path("tokens/", settings_views.Tokens.as_view(), name="tokens"),
    path("tokens/<uuid:token_id>/revoke/", settings_views.TokenRevoke.as_view(), name="token_revoke"),
    path("data/", data_views.Data.as_view(), name="data"),
    path("data/export/", data_views.AskForExport.as_view(), name="ask_for_export"),
    path("data/export/<uuid:export_id>/", data_views.download_export, name="export"),
    path("data/delete/", data_views.DeleteAccount.as_view(), name="delete_account"),
]
