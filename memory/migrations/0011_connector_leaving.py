from django.db import migrations, models


class Migration(migrations.Migration):
    """A connector of many documents is deleted in the background. What was deployed before writes rows without it, and
    still shows such a one, switched off."""

    dependencies = [("memory", "0010_memory_replaces")]

    operations = [
        migrations.AddField(
            "connector",
            "is_leaving",
            models.BooleanField(
                db_default=False, default=False, help_text="It was deleted with its documents, which go lot by lot."
            ),
        ),
    ]
