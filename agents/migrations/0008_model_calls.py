import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# What was recorded before there was the ledger.
FILL = """
INSERT INTO agents_modelcall (step_id, user_id, execution_id, conversation_id, project_id, agent_name, provider, model,
                              prompt_tokens, completion_tokens, cost_usd, at)
SELECT s.id, e.user_id, e.id, e.conversation_id,
       CASE WHEN e.input #>> '{options,project_id}' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            THEN (e.input #>> '{options,project_id}')::uuid END,
       a.agent_name, left(coalesce(s.usage->>'provider', ''), 200), left(coalesce(s.usage->>'model', ''), 200),
       (s.usage->>'prompt_tokens')::bigint, coalesce((s.usage->>'completion_tokens')::bigint, 0),
       (s.usage->>'cost_usd')::numeric, coalesce(s.ended_at, s.started_at)
FROM agents_step s JOIN agents_agentexecution a ON a.id = s.agent_id JOIN agents_execution e ON e.id = a.execution_id
WHERE s.usage->>'prompt_tokens' IS NOT NULL
ON CONFLICT (step_id) DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0007_apps"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ModelCall",
            fields=[
                ("step_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("execution_id", models.UUIDField()),
                ("conversation_id", models.UUIDField(null=True)),
                ("project_id", models.UUIDField(null=True)),
                ("agent_name", models.CharField(max_length=64)),
                ("provider", models.CharField(max_length=200)),
                ("model", models.CharField(max_length=200)),
                ("prompt_tokens", models.PositiveBigIntegerField()),
                ("completion_tokens", models.PositiveBigIntegerField()),
                (
                    "cost_usd",
                    models.DecimalField(
                        decimal_places=10,
                        help_text="Empty where the model has no known price: not free.",
                        max_digits=18,
                        null=True,
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["user", "at"], name="agents_modelcall_by_user"),
                    models.Index(fields=["at"], name="agents_modelcall_by_time"),
                ],
            },
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop, elidable=True),
    ]
