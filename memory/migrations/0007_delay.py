from django.db import migrations, models


class Migration(migrations.Migration):
    """Why a document gets no vectors just now. The old code neither reads nor writes it."""

    dependencies = [("memory", "0006_sketches")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="delay",
            field=models.TextField(
                blank=True,
                db_default="",
                help_text="Why it gets no vectors just now, a sentence for people; while EMBEDDING.",
            ),
        ),
    ]
