from django.db import migrations, models

import hyperagent.lib.fields


class Migration(migrations.Migration):
    """What calls of models have taken by the last heartbeat, for whoever takes a run over; and which rows of the ledger
    are estimates. Instant on tables of any size; what was deployed before leaves both as they are."""

    dependencies = [("agents", "0018_renewing")]

    operations = [
        migrations.AddField(
            "execution",
            "underway",
            hyperagent.lib.fields.ExactJSONField(
                blank=True,
                editable=False,
                help_text="Calls of models on their way, as of the last heartbeat.",
                null=True,
            ),
        ),
        migrations.AddField(
            "modelcall",
            "is_estimate",
            models.BooleanField(
                db_default=False, default=False, help_text="It broke off before its provider said what it took."
            ),
        ),
    ]
