"""People are told by mail of a budget that comes to its end. Changes no column: the words that are known."""

from django.db import migrations, models

KINDS = [
    ("request_waiting", "request_waiting"),
    ("request_reminder", "request_reminder"),
    ("request_timed_out", "request_timed_out"),
    ("webhook_disabled", "webhook_disabled"),
    ("budget_threshold", "budget_threshold"),
    ("schedule_failed", "schedule_failed"),
]


class Migration(migrations.Migration):
    dependencies = [("notices", "0003_mails_about_schedules")]

    operations = [
        migrations.AlterField("mail", "kind", models.CharField(choices=KINDS, max_length=40)),
        migrations.AlterField("preference", "kind", models.CharField(choices=KINDS, max_length=40)),
    ]
