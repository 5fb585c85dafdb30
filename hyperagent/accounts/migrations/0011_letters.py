"""Mails about accounts wait in a table until the mail server takes them."""

import django.db.models.deletion
import django.db.models.functions.datetime
import hyperagent.lib.fields
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0010_members_door'),
    ]

    operations = [
        migrations.CreateModel(
            name='Letter',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('next_attempt_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('last_error', models.CharField(blank=True, max_length=500)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('given_up_at', models.DateTimeField(blank=True, null=True)),
                ('kind', models.CharField(choices=[('invitation', 'invitation'), ('password_reset', 'password_reset'), ('security_news', 'security_news'), ('export_ready', 'export_ready')], max_length=40)),
                ('facts', hyperagent.lib.fields.ExactJSONField(default=dict, help_text='What it names, by name; text.')),
                ('invitation', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='letters', to='accounts.invitation')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'mail about accounts',
                'verbose_name_plural': 'mails about accounts',
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(condition=models.Q(('given_up_at__isnull', True), ('sent_at__isnull', True)), fields=['next_attempt_at'], name='accounts_letter_due'), models.Index(fields=['-created_at', '-id'], name='accounts_letter_newest')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('invitation__isnull', False), ('kind', 'invitation'), ('user', None)), models.Q(models.Q(('kind', 'invitation'), _negated=True), ('invitation', None), ('user__isnull', False)), _connector='OR'), name='accounts_letter_to_one')],
            },
        ),
    ]
