from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("conversations", "0003_search_and_share"),
        ("memory", "0003_workspaces"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(fields=["-created_at", "id"], name="conversations_newest"),
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("deleted_at", None), _negated=True),
                fields=["deleted_at"],
                name="conversations_deleted",
            ),
        ),
    ]
