from django.db import migrations, models


class Migration(migrations.Migration):
    """One process at a time renews a server's tokens. Instant on a table of any size; what was deployed before renews
    without asking whose turn it is, as it did."""

    dependencies = [("agents", "0017_tuning")]

    operations = [
        migrations.AddField(
            "mcpserver",
            "renewing_until",
            models.DateTimeField(
                editable=False, help_text="Whose turn it is to renew its tokens has so long for it.", null=True
            ),
        ),
    ]
