"""The account's routes of the API, below `/api/v1/`."""

from django.urls import path

from hyperagent.accounts import api, invitations_api, people_api, service_accounts_api
from hyperagent.accounts.audit_log import api as audit_api

urlpatterns = [
    path("auth/token", api.TokenCreate.as_view(), name="auth-token"),
    path("auth/tokens", api.TokenList.as_view(), name="auth-tokens"),
    path("auth/tokens/<uuid:token_id>", api.TokenDetail.as_view(), name="auth-token-detail"),
    path("me", api.Me.as_view(), name="me"),
    path("people", people_api.PeopleList.as_view(), name="people"),
    path("people/<uuid:person_id>", people_api.PersonDetail.as_view(), name="person"),
    path("people/<uuid:person_id>/deactivate", people_api.PersonDeactivate.as_view(), name="person-deactivate"),
    path("people/<uuid:person_id>/activate", people_api.PersonActivate.as_view(), name="person-activate"),
    path("groups", people_api.GroupList.as_view(), name="groups"),
    path("groups/<int:group_id>", people_api.GroupDetail.as_view(), name="group"),
    path("invitations", invitations_api.InvitationList.as_view(), name="invitations"),
    path("invitations/<uuid:invitation_id>", invitations_api.InvitationDetail.as_view(), name="invitation"),
    path("invitations/<uuid:invitation_id>/send", invitations_api.InvitationSend.as_view(), name="invitation-send"),
    path("service-accounts", service_accounts_api.ServiceAccountList.as_view(), name="service-accounts"),
    path(
        "service-accounts/<uuid:service_id>",
        service_accounts_api.ServiceAccountDetail.as_view(),
        name="service-account",
    ),
    path(
        "service-accounts/<uuid:service_id>/tokens", service_accounts_api.ServiceTokens.as_view(), name="service-tokens"
    ),
    path(
        "service-accounts/<uuid:service_id>/tokens/<uuid:service_token_id>",
        service_accounts_api.ServiceTokenDetail.as_view(),
        name="service-token",
    ),
    path(
        "service-accounts/<uuid:service_id>/tokens/<uuid:service_token_id>/rotate",
        service_accounts_api.ServiceTokenRotate.as_view(),
        name="service-token-rotate",
    ),
    path("audit", audit_api.AuditList.as_view(), name="audit"),
    path("audit/export", audit_api.AuditExport.as_view(), name="audit-export"),
    path("audit/stream", audit_api.AuditStream.as_view(), name="audit-stream"),
]
