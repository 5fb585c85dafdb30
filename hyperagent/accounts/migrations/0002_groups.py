"""The groups that make a reviewer and an auditor. Frozen here: a later change of the roles is a later migration."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def make_groups(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    groups = apps.get_model("auth", "Group").objects
    for name in ("reviewer", "auditor"):
        groups.get_or_create(name=name)


class Migration(migrations.Migration):
    dependencies = (
        ("accounts", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
    )

    # Going back keeps the groups: people may be in them.
    operations = [
        migrations.RunPython(make_groups, migrations.RunPython.noop),
    ]
