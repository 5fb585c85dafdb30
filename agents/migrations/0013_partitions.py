"""The event log and the journal cut by months. What was there stays where it is, as the part of ids without a time."""

from django.db import migrations
from django.db.migrations.exceptions import IrreversibleError
from django.utils import timezone

from agents.log import partitions


def split(apps, schema_editor):
    partitions.hold_all()
    with schema_editor.connection.cursor() as cursor:
        for log in partitions.LOGS:
            partitions.split(cursor, log)
    partitions.make_months(timezone.now())


def refuse(apps, schema_editor):
    raise IrreversibleError(
        "agents.0013_partitions cannot be taken back: whole months of the event log may be gone already. Go back by a"
        " backup from before it (`manage.py restore`)."
    )


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0012_log_retention'),
    ]

    operations = [
        migrations.RunPython(split, refuse),
    ]
