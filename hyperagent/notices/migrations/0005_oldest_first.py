from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notices', '0004_budget_mails'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(
                condition=models.Q(('status__in', ['pending', 'failed'])),
                fields=['endpoint', 'created_at', 'id'],
                name='notices_delivery_oldest_open',
            ),
        ),
    ]
