from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0012_replaced_tokens"),
    ]

    operations = [
        migrations.AddField(
            model_name="dataexport",
            name="files",
            field=models.JSONField(
                blank=True, help_text="Names and sizes of all of its files, where they are several.", null=True
            ),
        ),
        migrations.AddField(
            model_name="dataexport",
            name="place",
            field=models.JSONField(
                blank=True, help_text="What the files so far have, for the job that makes the next.", null=True
            ),
        ),
    ]
