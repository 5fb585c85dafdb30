import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('accounts', '0005_quotas')]

    operations = [
        migrations.AlterField(
            model_name='loginattempt',
            name='door',
            field=models.CharField(choices=[('login', 'login'), ('register', 'register'), ('reset', 'reset'), ('second', 'second'), ('sso', 'sso')], max_length=20),
        ),
        migrations.CreateModel(
            name='ProviderIdentity',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('issuer', models.CharField(max_length=500)),
                ('subject', models.CharField(max_length=255)),
                ('email', models.EmailField(blank=True, help_text='As the provider last said it; decides nothing.', max_length=254)),
                ('given', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=150), blank=True, default=list, help_text='Roles and groups that came by its claim, and go when the claim says them no more.', size=None)),
                ('linked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='identities', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'provider identities',
                'ordering': ('linked_at', 'id'),
                'constraints': [models.UniqueConstraint(fields=('issuer', 'subject'), name='accounts_provideridentity_one')],
            },
        ),
    ]
