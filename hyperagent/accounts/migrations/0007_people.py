import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_sign_on"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("email", models.EmailField(max_length=254)),
                (
                    "roles",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("user", "user"),
                                ("reviewer", "reviewer"),
                                ("auditor", "auditor"),
                                ("administrator", "administrator"),
                            ],
                            max_length=20,
                        ),
                        default=list,
                        size=None,
                    ),
                ),
                ("made_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                (
                    "number",
                    models.PositiveSmallIntegerField(
                        default=1, help_text="How often it was sent: only the last link is good."
                    ),
                ),
                (
                    "mailed_at",
                    models.DateTimeField(blank=True, help_text="When the mail server took the last one.", null=True),
                ),
                ("ends_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "accepted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("groups", models.ManyToManyField(blank=True, related_name="+", to="auth.group")),
                (
                    "invited_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-made_at", "-id"),
                "indexes": [
                    models.Index(fields=["-made_at", "-id"], name="accounts_invitation_newest"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("email"),
                        condition=models.Q(("accepted_at", None), ("revoked_at", None)),
                        name="accounts_invitation_one_at_a_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ServiceAccount",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="service_account",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("purpose", models.CharField(blank=True, default="", max_length=200)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("run", "run"),
                                ("read", "read"),
                                ("approve", "approve"),
                                ("documents", "documents"),
                                ("admin", "admin"),
                            ],
                            max_length=20,
                        ),
                        size=None,
                    ),
                ),
                ("ends_at", models.DateTimeField()),
                ("made_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                (
                    "made_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="service_accounts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-made_at",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("scopes__len__gt", 0), ("scopes__contained_by", ["run", "read", "documents", "admin"])
                        ),
                        name="accounts_serviceaccount_scopes_known",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="user",
            name="kind",
            field=models.CharField(
                choices=[("person", "person"), ("service", "service")],
                db_default="person",
                default="person",
                editable=False,
                max_length=8,
            ),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind", "person"), models.Q(("kind", "service"), ("password__startswith", "!")), _connector="OR"
                ),
                name="accounts_user_programs_have_no_password",
            ),
        ),
    ]
