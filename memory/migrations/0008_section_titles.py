from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import migrations, models


class Migration(migrations.Migration):
    """The words of the headings above a passage can be filtered by. The old code neither reads nor writes it; while it
    is built, chunks wait to be stored."""

    dependencies = [("memory", "0007_delay")]

    operations = [
        migrations.AddIndex(
            model_name="chunk",
            index=GinIndex(
                SearchVector("section_title", config="simple"),
                condition=~models.Q(section_title=""),
                name="memory_chunk_section",
            ),
        ),
    ]
