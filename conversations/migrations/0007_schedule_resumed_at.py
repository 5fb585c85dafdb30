from django.db import migrations, models


class Migration(migrations.Migration):
    """What failed before a schedule was set going again counts no more. The old code neither reads nor writes it."""

    dependencies = [("conversations", "0006_schedule_when_missed")]

    operations = [
        migrations.AddField(
            model_name="schedule",
            name="resumed_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When it was last set going again: what failed before counts no more.",
                null=True,
            ),
        ),
    ]
