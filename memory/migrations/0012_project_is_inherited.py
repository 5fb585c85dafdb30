from django.db import migrations, models


class Migration(migrations.Migration):
    """Whose words a project's instructions are, once it has another owner. The old code neither reads nor writes it."""

    dependencies = [("memory", "0011_connector_leaving")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="is_inherited",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether an earlier owner wrote the instructions; until the owner saves some.",
            ),
        ),
    ]
