from django.db import migrations, models


class Migration(migrations.Migration):
    """What a person adds to a run has an id of whoever said it, and is added once. The table is small: one row for each
    thing that people ever wanted of a run. What was deployed before writes rows without it."""

    dependencies = [("agents", "0019_underway")]

    operations = [
        migrations.AddField(
            "intervention",
            "client_id",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Given by whoever said it: not said twice.",
                max_length=100,
            ),
        ),
        migrations.AddConstraint(
            "intervention",
            models.UniqueConstraint(
                condition=models.Q(("client_id", ""), _negated=True),
                fields=("execution", "client_id"),
                name="agents_intervention_said_once",
            ),
        ),
    ]
