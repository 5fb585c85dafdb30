from django.db import migrations, models


class Migration(migrations.Migration):
    """What the asking program calls its task stands with the run. Instant on a table of any size, and what was deployed
    before writes rows without it."""

    dependencies = [("agents", "0015_calls_of_no_run")]

    operations = [
        migrations.AddField(
            "execution",
            "task_id",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The asking program's own name for its task.",
                max_length=100,
            ),
        ),
    ]
