from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0009_holds_of_no_run"),
    ]

    operations = [
        migrations.AlterField(
            model_name="loginattempt",
            name="door",
            field=models.CharField(
                choices=[
                    ("login", "login"),
                    ("register", "register"),
                    ("reset", "reset"),
                    ("second", "second"),
                    ("members", "members"),
                    ("sso", "sso"),
                ],
                max_length=20,
            ),
        ),
    ]
