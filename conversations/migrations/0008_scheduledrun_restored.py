from django.db import migrations, models


class Migration(migrations.Migration):
    """One more reason why a time was left out. Nothing changes in the database."""

    dependencies = [("conversations", "0007_schedule_resumed_at")]

    operations = [
        migrations.AlterField(
            model_name="scheduledrun",
            name="skipped_why",
            field=models.CharField(
                blank=True,
                choices=[
                    ("still_running", "still_running"),
                    ("still_waiting", "still_waiting"),
                    ("missed", "missed"),
                    ("restored", "restored"),
                    ("owner_inactive", "owner_inactive"),
                ],
                max_length=16,
            ),
        ),
    ]
