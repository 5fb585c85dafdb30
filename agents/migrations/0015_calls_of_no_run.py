from django.db import migrations, models


class Migration(migrations.Migration):
    """The ledger takes calls of the embedder's too, which are of no step and of no run."""

    dependencies = [("agents", "0014_updates_in_place")]

    operations = [
        migrations.AlterField("modelcall", "execution_id", models.UUIDField(null=True)),
        migrations.RunSQL(
            "CREATE SEQUENCE agents_modelcall_of_no_step", "DROP SEQUENCE IF EXISTS agents_modelcall_of_no_step"
        ),
    ]
