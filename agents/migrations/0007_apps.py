import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0006_mcp'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='App',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('task_id', models.UUIDField(help_text='The conversation, or the run where it belongs to none.')),
                ('title', models.CharField(max_length=200)),
                ('command', models.TextField()),
                ('port', models.PositiveIntegerField()),
                ('label', models.CharField(max_length=40, unique=True)),
                ('started', models.CharField(blank=True, max_length=120)),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['task_id'], name='agents_app_by_task')],
                'constraints': [models.UniqueConstraint(fields=('user', 'task_id'), name='agents_app_one_for_a_task')],
            },
        ),
    ]
