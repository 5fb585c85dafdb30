import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0009_connector_device")]

    operations = [
        migrations.AddField(
            "memory",
            "replaces",
            models.ForeignKey(
                blank=True,
                help_text="While it is quarantined: what it supersedes once its owner accepts it.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="memory.memory",
            ),
        ),
    ]
