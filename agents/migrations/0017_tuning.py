import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """What administrators choose for agents, and what of it a run goes by. Instant on a table of any size, and what was
    deployed before writes runs without it."""

    dependencies = [("agents", "0016_task_ids"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.AddField(
            "execution",
            "tuning",
            models.JSONField(
                blank=True,
                editable=False,
                help_text="What administrators had chosen for its agents when it began.",
                null=True,
            ),
        ),
        migrations.CreateModel(
            name="AgentTuning",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "agent",
                    models.CharField(
                        help_text="A run takes what stands here when it begins. What is under way, or goes on from an "
                        "earlier try, stays as it is. Whatever is left empty stays as the agent's code and the "
                        "environment say.",
                        max_length=31,
                        unique=True,
                    ),
                ),
                (
                    "model",
                    models.CharField(
                        blank=True,
                        help_text="As provider/model; the name alone for one of the default provider. It goes before "
                        "what the environment names (CHAT_MODEL), and the tier's fallbacks follow it. A question that "
                        "names a provider, a model or a tier gets that.",
                        max_length=200,
                    ),
                ),
                (
                    "tier",
                    models.CharField(
                        blank=True,
                        choices=[("max", "max"), ("pro", "pro"), ("flash", "flash")],
                        help_text="For all of the agent's calls. Without a model, the tier's is asked.",
                        max_length=8,
                    ),
                ),
                (
                    "temperature",
                    models.FloatField(
                        blank=True,
                        help_text="From 0 to 2. Calls that only plan what to look for or to do keep their low one.",
                        null=True,
                    ),
                ),
                (
                    "timeout_s",
                    models.IntegerField(
                        blank=True,
                        help_text="For one try; waiting for people does not count.",
                        null=True,
                        verbose_name="time limit (s)",
                    ),
                ),
                (
                    "max_retries",
                    models.SmallIntegerField(
                        blank=True, help_text="From 0 to 5.", null=True, verbose_name="retries"
                    ),
                ),
                (
                    "approval",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("at_calls", "at each call that needs a yes"),
                            ("before_agent", "before it begins, too"),
                        ],
                        help_text="Where a person is asked.",
                        max_length=16,
                    ),
                ),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "changed_by",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("agent",),
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(tier__in=["", "max", "pro", "flash"]), name="agents_tuning_tier_known"
                    ),
                    models.CheckConstraint(
                        condition=Q(approval__in=["", "at_calls", "before_agent"]), name="agents_tuning_approval_known"
                    ),
                    models.CheckConstraint(
                        condition=Q(temperature__isnull=True) | Q(temperature__range=(0, 2)),
                        name="agents_tuning_temperature",
                    ),
                    models.CheckConstraint(
                        condition=Q(timeout_s__isnull=True) | Q(timeout_s__gte=1), name="agents_tuning_timeout"
                    ),
                    models.CheckConstraint(
                        condition=Q(max_retries__isnull=True) | Q(max_retries__range=(0, 5)),
                        name="agents_tuning_retries",
                    ),
                ],
            },
        ),
    ]
