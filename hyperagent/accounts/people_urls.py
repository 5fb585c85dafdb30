"""The pages about people, below `/people/`."""

from django.urls import path

from hyperagent.accounts import people_views, service_accounts_views

app_name = "people"
urlpatterns = [
    path("", people_views.PeopleList.as_view(), name="people"),
    path("<uuid:person_id>/", people_views.PersonPage.as_view(), name="person"),
    path("groups/", people_views.Groups.as_view(), name="groups"),
    path("groups/<int:group_id>/", people_views.GroupPage.as_view(), name="group"),
    path("invitations/", people_views.Invitations.as_view(), name="invitations"),
    path("invitations/<uuid:invitation_id>/", people_views.InvitationVerb.as_view(), name="invitation"),
    path("service-accounts/", service_accounts_views.ServiceAccounts.as_view(), name="service_accounts"),
    path("service-accounts/new/", service_accounts_views.NewServiceAccount.as_view(), name="new_service_account"),
    path(
        "service-accounts/<uuid:service_id>/",
        service_accounts_views.ServiceAccountPage.as_view(),
        name="service_account",
    ),
]
