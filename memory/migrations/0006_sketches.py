import django.contrib.postgres.fields
from django.db import migrations, models

# What Django cannot say. PLAIN: neither packed nor moved out of the row, so that they are compared where they lie.
SKETCHES = f"""
    ALTER TABLE memory_vectorsketch
        {", ".join(f"ADD COLUMN s{number} bit varying" for number in range(16))};
    ALTER TABLE memory_vectorsketch
        {", ".join(f"ALTER COLUMN s{number} SET STORAGE PLAIN" for number in range(16))},
        ALTER COLUMN keys SET STORAGE PLAIN;
    ALTER TABLE memory_vectorsketch ADD CONSTRAINT memory_vectorsketch_of_document
        FOREIGN KEY (document_id) REFERENCES memory_document (id) ON DELETE CASCADE;
"""
# The table of graphs stays empty for processes that were started before this and still look into it.
NO_GRAPHS = """
    DELETE FROM memory_vectorgraph;
    DO $$
    DECLARE graph regclass;
    BEGIN
        FOR graph IN SELECT i.indexrelid::regclass FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
             WHERE i.indrelid = 'memory_vector'::regclass AND starts_with(c.relname, 'memory_graph_')
        LOOP
            EXECUTE format('DROP INDEX %s', graph);
        END LOOP;
    END $$;
"""


class Migration(migrations.Migration):
    """Owners of very many vectors are searched by sketches in place of graphs. The embedder makes them."""

    dependencies = [
        ("memory", "0005_found_by_state"),
    ]

    operations = [
        migrations.CreateModel(
            name="SketchedOwner",
            fields=[
                ("pk", models.CompositePrimaryKey("owner_id", "model", blank=True, editable=False, primary_key=True, serialize=False)),
                ("owner_id", models.UUIDField()),
                ("model", models.CharField(db_collation="C", help_text="The name of an EmbeddingModel.", max_length=100)),
                ("rows", models.IntegerField(help_text="How many vectors there were when it was measured.")),
                ("candidates", models.IntegerField(help_text="Of the sketches' nearest; 0 if no number of them is good enough.")),
            ],
        ),
        migrations.CreateModel(
            name="VectorSketch",
            fields=[
                ("pk", models.CompositePrimaryKey("document_id", "model", "part", blank=True, editable=False, primary_key=True, serialize=False)),
                ("document_id", models.UUIDField()),
                ("model", models.CharField(db_collation="C", help_text="The name of an EmbeddingModel.", max_length=100)),
                ("part", models.IntegerField()),
                ("owner_id", models.UUIDField()),
                ("keys", django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text="Of their chunks.", size=None)),
            ],
            options={
                "indexes": [models.Index(fields=["model", "owner_id", "document_id"], name="memory_sketch_of_owner")],
            },
        ),
        migrations.RunSQL(SKETCHES, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel("VectorGraph")],
            database_operations=[migrations.RunSQL(NO_GRAPHS, migrations.RunSQL.noop)],
        ),
    ]
