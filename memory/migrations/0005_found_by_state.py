from django.db import migrations, models


class Migration(migrations.Migration):
    """What everyone may see is found without a look at what groups may see, and what a job has to be done for without
    a look at all documents."""

    dependencies = [
        ('memory', '0004_newest_first'),
    ]

    operations = [
        migrations.RemoveIndex(model_name='document', name='memory_document_shared'),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(condition=models.Q(('visibility', 'private'), _negated=True), fields=['visibility', 'created_at'], name='memory_document_shared'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(condition=models.Q(('status__in', ['queued', 'reading', 'indexing'])), fields=['updated_at'], name='memory_document_unfinished'),
        ),
    ]
