from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_budgets")]

    operations = [
        migrations.AlterField(
            "hold", "execution_id", models.UUIDField(help_text="Empty for a call of no run.", null=True)
        ),
    ]
