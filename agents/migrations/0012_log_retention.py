import hyperagent.lib.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0011_budgets'),
    ]

    operations = [
        migrations.AlterField(
            model_name='execution',
            name='id',
            field=models.UUIDField(default=hyperagent.lib.ids.new_id, editable=False, primary_key=True, serialize=False),
        ),
        migrations.AlterField(
            model_name='agentexecution',
            name='id',
            field=models.UUIDField(default=hyperagent.lib.ids.new_id, editable=False, primary_key=True, serialize=False),
        ),
        migrations.AddField(
            model_name='execution',
            name='log_dropped_at',
            field=models.DateTimeField(blank=True, help_text='Since then its events and its steps are kept no longer (LOG_RETENTION_DAYS).', null=True),
        ),
    ]
