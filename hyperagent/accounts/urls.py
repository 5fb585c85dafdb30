"""The pages at the door, below `/accounts/`, and the addresses that the settings had before."""

from django.urls import path

from hyperagent.accounts import invitations_views, views
from hyperagent.accounts.mfa import door_views
from hyperagent.accounts.sso import views as sso_views

app_name = "accounts"
urlpatterns = [
    path("login/", views.Login.as_view(), name="login"),
    path("login/second/", door_views.SecondFactor.as_view(), name="second_factor"),
    path("login/passkey/", door_views.EnterByPasskey.as_view(), name="passkey"),
    path("login/passkey/ask/", door_views.AskForPasskey.as_view(), name="ask_for_passkey"),
    path("sso/", sso_views.begin, name="sso"),
    path("sso/callback/", sso_views.callback, name="sso_callback"),
    path("logout/", views.Logout.as_view(), name="logout"),
    path("register/", views.Register.as_view(), name="register"),
    path("invited/", invitations_views.Accept.as_view(), name="invited_here"),
    path("invited/<str:word>/", invitations_views.Invited.as_view(), name="invited"),
    path("password/reset/", views.PasswordReset.as_view(), name="password_reset"),
    path("password/reset/done/", views.PasswordResetDone.as_view(), name="password_reset_done"),
    path("password/reset/complete/", views.PasswordResetComplete.as_view(), name="password_reset_complete"),
    path("password/reset/<uidb64>/<token>/", views.PasswordResetConfirm.as_view(), name="password_reset_confirm"),
    path("password/change/", views.Moved.as_view(pattern_name="settings:security"), name="password_change"),
    path("profile/", views.Moved.as_view(pattern_name="settings:profile"), name="profile"),
    path("tokens/", views.Moved.as_view(pattern_name="settings:tokens"), name="tokens"),
    path(
        "tokens/<uuid:token_id>/revoke/",
        views.Moved.as_view(pattern_name="settings:token_revoke"),
        name="token_revoke",
    ),
]
