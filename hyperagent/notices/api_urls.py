"""The webhooks' routes of the API, below `/api/v1/`."""

from django.urls import path

from hyperagent.notices import api

urlpatterns = [
    path("webhooks", api.WebhookList.as_view(), name="webhooks"),
    path("webhooks/<uuid:endpoint_id>", api.WebhookDetail.as_view(), name="webhook"),
    path("webhooks/<uuid:endpoint_id>/deliveries", api.DeliveryList.as_view(), name="webhook-deliveries"),
    path("webhooks/<uuid:endpoint_id>/test", api.WebhookTest.as_view(), name="webhook-test"),
    path("webhooks/deliveries/<uuid:delivery_id>/redeliver", api.Redeliver.as_view(), name="webhook-redeliver"),
]
