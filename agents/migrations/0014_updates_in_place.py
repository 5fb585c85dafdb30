from django.db import migrations


class Migration(migrations.Migration):
    """A run's row is written with each commit of its log. With room in its page, and no index on the lease that moves
    with each, most of these writes leave the indexes alone. Runs whose lease is over are few among the live ones, which
    have an index of their own.
    """

    dependencies = [
        ("agents", "0013_partitions"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="execution", name="agents_execution_leases"),
        migrations.RunSQL(
            "ALTER TABLE agents_execution SET (fillfactor = 70)",
            "ALTER TABLE agents_execution RESET (fillfactor)",
        ),
    ]
