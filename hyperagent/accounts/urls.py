"""The account's pages, below `/accounts/`."""

from django.urls import path

from hyperagent.accounts import views

app_name = "accounts"
urlpatterns = [
    path("login/", views.Login.as_view(), name="login"),
    path("logout/", views.Logout.as_view(), name="logout"),
    path("register/", views.Register.as_view(), name="register"),
    path("password/change/", views.PasswordChange.as_view(), name="password_change"),
    path("password/reset/", views.PasswordReset.as_view(), name="password_reset"),
    path("password/reset/done/", views.PasswordResetDone.as_view(), name="password_reset_done"),
    path("password/reset/complete/", views.PasswordResetComplete.as_view(), name="password_reset_complete"),
    path("password/reset/<uidb64>/<token>/", views.PasswordResetConfirm.as_view(), name="password_reset_confirm"),
    path("profile/", views.Profile.as_view(), name="profile"),
    path("tokens/", views.Tokens.as_view(), name="tokens"),
    path("tokens/<uuid:token_id>/revoke/", views.TokenRevoke.as_view(), name="token_revoke"),
]
