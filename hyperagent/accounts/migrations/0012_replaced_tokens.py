from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0011_letters"),
    ]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="was_to_end_at",
            field=models.DateTimeField(
                blank=True, editable=False, help_text="Of one that was replaced: when it would have ended.", null=True
            ),
        ),
    ]
