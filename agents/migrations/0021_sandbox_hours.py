from django.db import migrations, models


class Migration(migrations.Migration):
    """How long programs ran in a box is known by the hour, so that a box of days is not counted as one day's. What was
    deployed before writes rows without it."""

    dependencies = [("agents", "0020_said_once")]

    operations = [
        migrations.AddField(
            "sandboxsession",
            "used_by_hour",
            models.JSONField(
                db_default={},
                default=dict,
                help_text="The same of its last day, by hours since 1970. What ran before is not in it.",
            ),
        ),
    ]
