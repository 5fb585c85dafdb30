"""The pages of notices, below `/settings/`."""

from django.urls import path

from hyperagent.notices import views

app_name = "notices"
urlpatterns = [
    path("webhooks/", views.Webhooks.as_view(), name="webhooks"),
    path("webhooks/<uuid:endpoint_id>/", views.Webhook.as_view(), name="webhook"),
    path("webhooks/<uuid:endpoint_id>/test/", views.TestWebhook.as_view(), name="webhook_test"),
    path("webhooks/<uuid:endpoint_id>/enable/", views.EnableWebhook.as_view(), name="webhook_enable"),
    path("webhooks/<uuid:endpoint_id>/disable/", views.DisableWebhook.as_view(), name="webhook_disable"),
    path("webhooks/<uuid:endpoint_id>/delete/", views.DeleteWebhook.as_view(), name="webhook_delete"),
    path("webhooks/deliveries/<uuid:delivery_id>/again/", views.DeliverAgain.as_view(), name="deliver_again"),
    path("notifications/", views.Notifications.as_view(), name="notifications"),
]
