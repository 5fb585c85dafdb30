import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0004_sandboxes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='MailAccount',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('kind', models.CharField(choices=[('imap', 'imap'), ('gmail', 'gmail')], max_length=8)),
                ('address', models.CharField(max_length=254)),
                ('display_name', models.CharField(blank=True, help_text='Stands before the address in mails.', max_length=100)),
                ('imap_host', models.CharField(blank=True, max_length=253)),
                ('imap_port', models.PositiveIntegerField(default=0)),
                ('imap_security', models.CharField(blank=True, choices=[('plain', 'plain'), ('tls', 'tls'), ('ssl', 'ssl')], max_length=8)),
                ('smtp_host', models.CharField(blank=True, max_length=253)),
                ('smtp_port', models.PositiveIntegerField(default=0)),
                ('smtp_security', models.CharField(blank=True, choices=[('plain', 'plain'), ('tls', 'tls'), ('ssl', 'ssl')], max_length=8)),
                ('user_name', models.CharField(blank=True, help_text='What it signs in as.', max_length=254)),
                ('sealed', models.TextField(editable=False, help_text='Password or tokens, encrypted with keys of SECRET_KEY.')),
                ('state', models.CharField(choices=[('ok', 'ok'), ('trouble', 'trouble'), ('reconnect', 'reconnect')], default='ok', max_length=16)),
                ('trouble', models.CharField(blank=True, help_text='What went wrong last, in words.', max_length=500)),
                ('trouble_at', models.DateTimeField(blank=True, null=True)),
                ('is_default', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'constraints': [models.UniqueConstraint(models.F('user'), django.db.models.functions.text.Lower('address'), name='agents_mailaccount_once'), models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('user',), name='agents_mailaccount_one_default'), models.CheckConstraint(condition=models.Q(('kind__in', ['imap', 'gmail'])), name='agents_mailaccount_kind_known'), models.CheckConstraint(condition=models.Q(('state__in', ['ok', 'trouble', 'reconnect'])), name='agents_mailaccount_state_known')],
            },
        ),
    ]

