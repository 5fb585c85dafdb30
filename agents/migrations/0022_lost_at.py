from django.db import migrations, models


class Migration(migrations.Migration):
    """When a run was lost by a runner of which it is not known whether it lives. Instant on tables of any size; what
    was deployed before leaves it as it is."""

    dependencies = [("agents", "0021_sandbox_hours")]

    operations = [
        migrations.AddField(
            "execution",
            "lost_at",
            models.DateTimeField(
                blank=True,
                editable=False,
                help_text="Since when it is not known whether that runner lives.",
                null=True,
            ),
        ),
    ]
