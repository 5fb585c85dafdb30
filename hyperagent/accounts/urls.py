"""The pages at the door, below `/accounts/`, and the addresses that the settings had before."""

from django.urls import path

from hyperagent.accounts import views

app_name = "accounts"
urlpatterns = [
    path("login/", views.Login.as_view(), name="login"),
    path("logout/", views.Logout.as_view(), name="logout"),
    path("register/", views.Register.as_view(), name="register"),
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
