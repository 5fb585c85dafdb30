from django.db import migrations, models


class Migration(migrations.Migration):
    """By which door a decision came: another program's agent is one. Nothing is changed in the database."""

    dependencies = [
        ('hitl', '0005_policies_for_some'),
    ]

    operations = [
        migrations.AlterField(
            model_name='decision',
            name='via',
            field=models.CharField(choices=[('page', 'page'), ('api', 'api'), ('agent', 'agent'), ('socket', 'socket'), ('admin', 'admin'), ('command', 'command'), ('clock', 'clock'), ('run', 'run')], max_length=8),
        ),
        migrations.AlterField(
            model_name='request',
            name='decided_via',
            field=models.CharField(blank=True, choices=[('page', 'page'), ('api', 'api'), ('agent', 'agent'), ('socket', 'socket'), ('admin', 'admin'), ('command', 'command'), ('clock', 'clock'), ('run', 'run')], db_default='', default='', max_length=8),
        ),
    ]
