from django.db import migrations, models


class Migration(migrations.Migration):
    """The requests that name somebody other than the one whose run asks, whatever became of them."""

    dependencies = [
        ('hitl', '0002_people_in_the_loop'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='request',
            index=models.Index(condition=models.Q(('approver_kind', 'self'), _negated=True), fields=['approver_kind', 'approver_name', '-created_at'], name='hitl_request_by_approver'),
        ),
    ]
