"""The account's routes of the API, below `/api/v1/`."""

from django.urls import path

from hyperagent.accounts import api

urlpatterns = [
    path("auth/token", api.TokenCreate.as_view(), name="auth-token"),
    path("auth/tokens", api.TokenList.as_view(), name="auth-tokens"),
    path("auth/tokens/<uuid:token_id>", api.TokenDetail.as_view(), name="auth-token-detail"),
    path("me", api.Me.as_view(), name="me"),
]
