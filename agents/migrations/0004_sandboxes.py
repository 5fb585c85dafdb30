import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0003_agent_tree'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='SandboxSession',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('task_id', models.UUIDField(help_text='The conversation, or the run where it belongs to none.')),
                ('sandbox_type', models.CharField(choices=[('code', 'code'), ('desktop', 'desktop'), ('app', 'app')], max_length=16)),
                ('key', models.CharField(help_text='unified:<user>:<task>; a desktop has one of its own.', max_length=120)),
                ('provider', models.CharField(max_length=16)),
                ('host', models.CharField(help_text='The machine, and which installation on it.', max_length=255)),
                ('opened_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('used_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('ended_because', models.CharField(blank=True, choices=[('idle', 'nobody used it any more'), ('cleanup', 'it was given back'), ('drained', 'its host was stopped'), ('room', 'its place was needed'), ('moved', 'another machine goes on with it'), ('removed', 'its conversation or its user is gone'), ('lost', 'it went away with its host, or by itself')], max_length=16)),
                ('close_wanted', models.CharField(blank=True, choices=[('', 'no'), ('close', 'close'), ('remove', 'remove')], default='', max_length=8)),
                ('runs', models.PositiveIntegerField(default=0)),
                ('used_seconds', models.FloatField(default=0, help_text='How long programs ran in it.')),
                ('note', models.TextField(blank=True, help_text='What could not be kept of it, and why.')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-opened_at', 'id'),
                'indexes': [models.Index(fields=['user', '-opened_at'], name='agents_sandbox_by_user'), models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['host'], name='agents_sandbox_open_by_host'), models.Index(fields=['task_id'], name='agents_sandbox_by_task'), models.Index(fields=['-opened_at', 'id'], name='agents_sandbox_newest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('key',), name='agents_sandbox_one_open')],
            },
        ),
        migrations.CreateModel(
            name='SandboxSnapshot',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('task_id', models.UUIDField()),
                ('sandbox_type', models.CharField(choices=[('code', 'code'), ('desktop', 'desktop'), ('app', 'app')], max_length=16)),
                ('stored_as', models.CharField(max_length=255)),
                ('sha256', models.CharField(max_length=64)),
                ('size_bytes', models.PositiveBigIntegerField()),
                ('made_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-made_at', 'id'),
                'indexes': [models.Index(fields=['made_at'], name='agents_snapshot_by_age'), models.Index(fields=['-made_at', 'id'], name='agents_snapshot_newest'), models.Index(fields=['task_id'], name='agents_snapshot_by_task')],
                'constraints': [models.UniqueConstraint(fields=('user', 'task_id', 'sandbox_type'), name='agents_snapshot_newest_only')],
            },
        ),
    ]
