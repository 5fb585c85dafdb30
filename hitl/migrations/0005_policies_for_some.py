import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """A policy may be about the runs of a group's members or of one person; those that there are stay for everybody."""

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('hitl', '0004_rules_outlive_accounts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='policy',
            name='for_group',
            field=models.ForeignKey(blank=True, help_text="Only runs of its members. Empty: everybody's.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='auth.group'),
        ),
        migrations.AddField(
            model_name='policy',
            name='for_person',
            field=models.ForeignKey(blank=True, help_text="Only this person's runs; those of a service account are its own. Empty: everybody's.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
    ]
