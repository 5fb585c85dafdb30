from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0005_schedules")]

    operations = [
        # The default is the database's: what an older program makes meanwhile has it too.
        migrations.AddField(
            model_name="schedule",
            name="when_missed",
            field=models.CharField(
                choices=[("once", "once"), ("skip", "skip")],
                db_default="once",
                default="once",
                help_text="What becomes of times that came while nothing ran here.",
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="schedule",
            constraint=models.CheckConstraint(
                condition=models.Q(("when_missed__in", ["once", "skip"])), name="conversations_schedule_missed_known"
            ),
        ),
        migrations.AlterField(
            model_name="scheduledrun",
            name="skipped_why",
            field=models.CharField(
                blank=True,
                choices=[
                    ("still_running", "still_running"),
                    ("still_waiting", "still_waiting"),
                    ("missed", "missed"),
                    ("owner_inactive", "owner_inactive"),
                ],
                max_length=16,
            ),
        ),
        migrations.AlterField(
            model_name="scheduledrun",
            name="missed",
            field=models.PositiveIntegerField(default=0, help_text="Later times that this one stands for too."),
        ),
    ]
