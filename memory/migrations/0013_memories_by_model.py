from django.db import migrations, models


class Migration(migrations.Migration):
    """Memories that wait for a vector are found without a look at all of them, before each batch of the embedder. The
    old code asks as before."""

    dependencies = [("memory", "0012_project_is_inherited")]

    operations = [
        migrations.AddIndex(
            "memory",
            models.Index(
                fields=["embedded_by"],
                condition=models.Q(status__in=["active", "quarantined"]) & ~models.Q(text=""),
                name="memory_memory_by_model",
            ),
        ),
    ]
