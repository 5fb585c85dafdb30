"""The apps that were started: one for each conversation, so that its preview can be found, and started again."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class App(models.Model):
    """`label`: names its origin; who knows it may look at the app while its box lives, so it is not to be guessed.
    `started`: the id of its server in the box; it means nothing once that box is gone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    task_id = models.UUIDField(help_text="The conversation, or the run where it belongs to none.")
    title = models.CharField(max_length=200)
    command = models.TextField()
    port = models.PositiveIntegerField()
    label = models.CharField(max_length=40, unique=True)
    started = models.CharField(max_length=120, blank=True)
    started_at = models.DateTimeField(db_default=Now())

    class Meta:
        app_label = "agents"
        constraints = (models.UniqueConstraint(fields=["user", "task_id"], name="agents_app_one_for_a_task"),)
        indexes = (models.Index(fields=["task_id"], name="agents_app_by_task"),)

    def __str__(self) -> str:
        return str(self.id)
