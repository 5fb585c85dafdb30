from django.db import migrations


class Migration(migrations.Migration):
    """The table of jobs is django-q2's; `hyperagent.lib.queue` takes them by this index."""

    dependencies = [
        ('notices', '0005_oldest_first'),
        ('django_q', '0019_alter_task_options_alter_ormq_key_alter_ormq_lock_and_more'),
    ]

    operations = [
        migrations.RunSQL(
            'CREATE INDEX hyperagent_jobs_by_lane ON django_q_ormq (key, id)',
            'DROP INDEX hyperagent_jobs_by_lane',
        ),
    ]
