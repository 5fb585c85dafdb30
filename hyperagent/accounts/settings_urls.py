"""The pages of the settings, below `/settings/`; those of notices and of connected servers stand beside them."""

from django.urls import path

from hyperagent.accounts import data_views, settings_views

app_name = "settings"
urlpatterns = [
    path("", settings_views.Overview.as_view(), name="overview"),
    path("profile/", settings_views.Profile.as_view(), name="profile"),
    path("appearance/", settings_views.Appearance.as_view(), name="appearance"),
    path("language/", settings_views.Language.as_view(), name="language"),
    path("security/", settings_views.Security.as_view(), name="security"),
    path("security/sign-ins/others/end/", settings_views.EndOtherSignIns.as_view(), name="end_other_sign_ins"),
    path("security/sign-ins/<uuid:sign_in_id>/end/", settings_views.EndSignIn.as_view(), name="end_sign_in"),
    path("connections/", settings_views.Connections.as_view(), name="connections"),
    path("tokens/", settings_views.Tokens.as_view(), name="tokens"),
    path("tokens/<uuid:token_id>/revoke/", settings_views.TokenRevoke.as_view(), name="token_revoke"),
    path("data/", data_views.Data.as_view(), name="data"),
    path("data/export/", data_views.AskForExport.as_view(), name="ask_for_export"),
    path("data/export/<uuid:export_id>/", data_views.download_export, name="export"),
    path("data/delete/", data_views.DeleteAccount.as_view(), name="delete_account"),
]
