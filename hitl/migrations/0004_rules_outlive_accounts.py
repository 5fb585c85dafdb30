import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """What was allowed for good, and what was done by it, belongs to the audit: nothing takes it along."""

    dependencies = [
        ('hitl', '0003_requests_by_approver'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='rule',
            name='user',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='rules', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='ruleuse',
            name='rule',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='used', to='hitl.rule'),
        ),
    ]
