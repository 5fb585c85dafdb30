from django.db import migrations

# As `hyperagent.lib.times.is_tellable`: of later ones some zones have no date, and no page could be shown.
CUT = """
UPDATE conversations_schedule SET ends_at = '9998-12-31 23:59:59+00' WHERE ends_at >= '9999-01-01 00:00:00+00';
UPDATE conversations_share SET ends_at = '9998-12-31 23:59:59+00' WHERE ends_at >= '9999-01-01 00:00:00+00';
"""


class Migration(migrations.Migration):
    """Ends of schedules and links that were taken before such were refused."""

    dependencies = [("conversations", "0008_scheduledrun_restored")]

    operations = [migrations.RunSQL(CUT, migrations.RunSQL.noop, elidable=True)]
