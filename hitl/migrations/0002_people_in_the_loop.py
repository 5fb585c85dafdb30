# Requests gain risk, approvers and deadlines; decisions, rules, policies and switches come.

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import hitl.kinds
import hyperagent.lib.fields
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("hitl", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "happening",
                    models.CharField(
                        choices=[
                            ("approved", "approved"),
                            ("denied", "denied"),
                            ("answered", "answered"),
                            ("snoozed", "snoozed"),
                            ("reminded", "reminded"),
                            ("timed_out", "timed_out"),
                            ("expired", "expired"),
                            ("cancelled", "cancelled"),
                            ("refused", "refused"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "actor_name",
                    models.CharField(blank=True, help_text="The e-mail address at that time.", max_length=254),
                ),
                (
                    "via",
                    models.CharField(
                        choices=[
                            ("page", "page"),
                            ("api", "api"),
                            ("socket", "socket"),
                            ("admin", "admin"),
                            ("command", "command"),
                            ("clock", "clock"),
                            ("run", "run"),
                        ],
                        max_length=8,
                    ),
                ),
                ("note", models.TextField(blank=True, help_text="Instructions or reason, as given.")),
                ("details", hyperagent.lib.fields.ExactJSONField(blank=True, default=dict)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                (
                    "actor",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="decisions", to="hitl.request"
                    ),
                ),
            ],
            options={
                "ordering": ("-at", "-id"),
                "indexes": [
                    models.Index(fields=["-at", "-id"], name="hitl_decision_newest"),
                    models.Index(fields=["actor", "-at"], name="hitl_decision_by_actor"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "happening__in",
                                [
                                    hitl.kinds.Happening["APPROVED"],
                                    hitl.kinds.Happening["DENIED"],
                                    hitl.kinds.Happening["ANSWERED"],
                                    hitl.kinds.Happening["SNOOZED"],
                                    hitl.kinds.Happening["REMINDED"],
                                    hitl.kinds.Happening["TIMED_OUT"],
                                    hitl.kinds.Happening["EXPIRED"],
                                    hitl.kinds.Happening["CANCELLED"],
                                    hitl.kinds.Happening["REFUSED"],
                                ],
                            )
                        ),
                        name="hitl_decision_happening_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Policy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=120, unique=True)),
                ("position", models.PositiveIntegerField(default=100, help_text="Smaller ones are looked at first.")),
                ("is_enabled", models.BooleanField(default=True)),
                ("tool", models.CharField(blank=True, help_text="Empty: every tool.", max_length=120)),
                (
                    "risk",
                    models.CharField(
                        blank=True,
                        choices=[("low", "low"), ("medium", "medium"), ("high", "high")],
                        help_text="Empty: every risk.",
                        max_length=8,
                    ),
                ),
                ("agent_name", models.CharField(blank=True, help_text="Empty: every agent.", max_length=64)),
                (
                    "action",
                    models.CharField(
                        choices=[("default", "default"), ("ask", "ask"), ("allow", "allow"), ("deny", "deny")],
                        default=hitl.kinds.PolicyAction["DEFAULT"],
                        help_text="default: ask if the tool says so; ask: always; allow: never ask; deny: never carried out.",
                        max_length=8,
                    ),
                ),
                (
                    "approver_kind",
                    models.CharField(
                        choices=[("self", "self"), ("role", "role"), ("group", "group"), ("named", "named")],
                        default=hitl.kinds.ApproverKind["SELF"],
                        max_length=8,
                    ),
                ),
                (
                    "approver_role",
                    models.CharField(
                        blank=True,
                        choices=[("reviewer", "reviewer"), ("auditor", "auditor"), ("administrator", "administrator")],
                        max_length=32,
                    ),
                ),
                (
                    "require_different_person",
                    models.BooleanField(
                        default=False, help_text="Whoever's run asks may not decide, be they an approver or not."
                    ),
                ),
                (
                    "allow_rules",
                    models.BooleanField(
                        default=False,
                        help_text="Standing rules may cover calls of this policy even if they cannot be undone.",
                    ),
                ),
                ("changed_at", models.DateTimeField(auto_now=True)),
                (
                    "approver_group",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="auth.group",
                    ),
                ),
                ("approvers", models.ManyToManyField(blank=True, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "verbose_name_plural": "policies",
                "ordering": ("position", "id"),
            },
        ),
        migrations.CreateModel(
            name="Rule",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("effect", models.CharField(choices=[("allow", "allow"), ("deny", "deny")], max_length=8)),
                (
                    "scope",
                    models.CharField(
                        choices=[("run", "run"), ("conversation", "conversation"), ("rule", "rule")], max_length=16
                    ),
                ),
                ("execution_id", models.UUIDField(blank=True, null=True)),
                ("conversation_id", models.UUIDField(blank=True, null=True)),
                ("tool", models.CharField(max_length=120)),
                ("agent_name", models.CharField(blank=True, help_text="Empty: whichever agent calls.", max_length=64)),
                ("conditions", hyperagent.lib.fields.ExactJSONField(blank=True, default=list)),
                ("text", models.TextField(help_text="The rule in words, as it was shown before it was saved.")),
                ("until", models.DateTimeField(blank=True, null=True)),
                ("max_uses", models.PositiveIntegerField(blank=True, null=True)),
                ("uses", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "made_from",
                    models.UUIDField(blank=True, help_text="The request on whose card it was made.", null=True),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "revoked_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="rules", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-id"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("revoked_at", None)), fields=["user", "tool"], name="hitl_rule_standing"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("scope", "run"), _negated=True), ("execution_id__isnull", False), _connector="OR"
                        ),
                        name="hitl_rule_run_named",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("scope", "conversation"), _negated=True),
                            ("conversation_id__isnull", False),
                            _connector="OR",
                        ),
                        name="hitl_rule_conversation_named",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RuleUse",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("call_key", models.CharField(max_length=128, unique=True)),
                ("execution_id", models.UUIDField(db_index=True)),
                ("agent_name", models.CharField(max_length=64)),
                ("tool", models.CharField(max_length=120)),
                ("arguments", hyperagent.lib.fields.ExactJSONField()),
                ("arguments_hash", models.CharField(max_length=64)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                (
                    "rule",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="used", to="hitl.rule"),
                ),
            ],
            options={
                "ordering": ("-at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Switch",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("installation", "installation"),
                            ("agent", "agent"),
                            ("tool", "tool"),
                            ("user", "user"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "target",
                    models.CharField(
                        blank=True,
                        help_text="The agent's or tool's name, or the user's id; empty: the installation.",
                        max_length=120,
                    ),
                ),
                ("reason", models.TextField()),
                (
                    "thrown_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("lifted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "lifted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "thrown_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "switches",
                "ordering": ("-thrown_at", "-id"),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("lifted_at", None)),
                        fields=("scope", "target"),
                        name="hitl_switch_thrown_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("scope", "installation"), ("target", "")),
                            models.Q(
                                models.Q(("scope", "installation"), _negated=True),
                                models.Q(("target", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="hitl_switch_target_named",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="request",
            name="announced_at",
            field=models.DateTimeField(blank=True, help_text="When those who may decide were told.", null=True),
        ),
        migrations.AddField(
            model_name="request",
            name="approver_ids",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.UUIDField(), blank=True, db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="request",
            name="approver_kind",
            field=models.CharField(
                choices=[("self", "self"), ("role", "role"), ("group", "group"), ("named", "named")],
                db_default=hitl.kinds.ApproverKind["SELF"],
                default=hitl.kinds.ApproverKind["SELF"],
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="request",
            name="approver_name",
            field=models.CharField(blank=True, db_default="", default="", max_length=150),
        ),
        migrations.AddField(
            model_name="request",
            name="arguments_hash",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of the tool and the arguments that were shown.",
                max_length=64,
            ),
        ),
        migrations.AddField(
            model_name="request",
            name="decided_via",
            field=models.CharField(
                blank=True,
                choices=[
                    ("page", "page"),
                    ("api", "api"),
                    ("socket", "socket"),
                    ("admin", "admin"),
                    ("command", "command"),
                    ("clock", "clock"),
                    ("run", "run"),
                ],
                db_default="",
                default="",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="request",
            name="different_person",
            field=models.BooleanField(db_default=False, default=False, help_text="Whoever's run it is may not decide."),
        ),
        migrations.AddField(
            model_name="request",
            name="edited_arguments",
            field=hyperagent.lib.fields.ExactJSONField(
                blank=True, help_text="In place of those that were asked about.", null=True
            ),
        ),
        migrations.AddField(
            model_name="request",
            name="remind_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="request",
            name="reminded_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="request",
            name="risk",
            field=models.CharField(
                blank=True,
                choices=[("low", "low"), ("medium", "medium"), ("high", "high")],
                db_default="",
                default="",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="request",
            name="snoozed_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="request",
            name="stage",
            field=models.CharField(
                blank=True, choices=[("tool", "tool"), ("agent", "agent")], db_default="", default="", max_length=8
            ),
        ),
        migrations.AddField(
            model_name="request",
            name="timeout_told_at",
            field=models.DateTimeField(
                blank=True, help_text="When its user was told that nobody answered in time.", null=True
            ),
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(fields=["user", "-created_at", "request_id"], name="hitl_request_of_user"),
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(fields=["-created_at", "request_id"], name="hitl_request_newest"),
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(
                condition=models.Q(("status", "pending")), fields=["expires_at"], name="hitl_request_expiry"
            ),
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(
                condition=models.Q(("remind_at__isnull", False), ("reminded_at__isnull", True), ("status", "pending")),
                fields=["remind_at"],
                name="hitl_request_reminder",
            ),
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(
                condition=models.Q(("announced_at__isnull", True), ("status", "pending")),
                fields=["created_at"],
                name="hitl_request_unannounced",
            ),
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(
                condition=models.Q(("status", "timed_out"), ("timeout_told_at__isnull", True)),
                fields=["responded_at"],
                name="hitl_request_timeout_untold",
            ),
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(
                condition=models.Q(("status", "pending"), models.Q(("approver_kind", "self"), _negated=True)),
                fields=["approver_kind", "approver_name"],
                name="hitl_request_for_others",
            ),
        ),
    ]
