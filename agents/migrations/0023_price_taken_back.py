from django.db import migrations, models


class Migration(migrations.Migration):
    """An own price can be taken back. Instant; what was deployed before takes such a row for a price of nothing."""

    dependencies = [("agents", "0022_lost_at")]

    operations = [
        migrations.AddField(
            "modelprice",
            "is_taken_back",
            models.BooleanField(db_default=False, default=False, editable=False, verbose_name="taken back"),
        ),
    ]
