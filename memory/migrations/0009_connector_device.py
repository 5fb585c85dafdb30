from django.db import migrations, models


class Migration(migrations.Migration):
    """A folder whose disk is away is told from one that was emptied. The old code neither reads nor writes it."""

    dependencies = [("memory", "0008_section_titles")]

    operations = [
        migrations.AddField(
            model_name="connector",
            name="device",
            field=models.BigIntegerField(
                blank=True, help_text="Of a folder: the disk it lay on when its files were seen last.", null=True
            ),
        ),
    ]
