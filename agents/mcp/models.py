"""Servers of the Model Context Protocol that people connected, and their tools as they were found and as reviewed.

A tool can be called while what its server says of it is what somebody reviewed and allowed: `allowed`, and `pin` equal
to `reviewed_pin`. Written by `agents.mcp.actions` and `agents.mcp.listing`.
"""

import uuid
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from agents.mcp.definitions import Definition, Risk
from hyperagent.accounts.models import User
from hyperagent.lib.fields import ExactJSONField

DEFAULT_AGENTS = ("chat", "research")


class ServerKind(models.TextChoices):
    HTTP = "http", "At an address (Streamable HTTP)"
    STDIO = "stdio", "A program in the sandbox"


class ServerState(models.TextChoices):
    NEW = "new", "Not connected yet"
    CONNECTED = "connected", "Connected"
    NEEDS_SIGN_IN = "needs_sign_in", "Asks to be signed in to"
    FAILED = "failed", "Could not be connected"


def default_agents() -> list[str]:
    return list(DEFAULT_AGENTS)


class ServerQuerySet(models.QuerySet["McpServer"]):
    def managed_by(self, user: User) -> "ServerQuerySet":
        """One's own; an administrator's are those of the installation as well."""
        installations = Q(owner=None) if user.is_staff else Q(pk__in=())
        return self.filter(Q(owner=user) | installations)

    def of_runs_of(self, user_id: uuid.UUID | None) -> "ServerQuerySet":
        """Those whose tools runs of this person may call: the installation's and their own."""
        return self.filter(Q(owner=None) | Q(owner_id=user_id), enabled=True)


class McpServer(models.Model):
    """A server, how it is reached, and for whom."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="mcp_servers",
        help_text="Empty: it is the installation's, and everybody's agents may call it.",
    )
    name = models.CharField(max_length=20)
    kind = models.CharField(max_length=8, choices=ServerKind)
    url = models.TextField(blank=True)
    command = models.TextField(blank=True, help_text="The program, as it is called within its box.")
    args = ArrayField(models.TextField(), default=list, blank=True)
    folder = models.CharField(max_length=60, blank=True, help_text="Below DATA_DIR/mcp: what `mcp_install` put there.")
    is_inner = models.BooleanField(default=False, help_text="It may be reached at an address of a private network.")
    sealed = models.TextField(blank=True, editable=False, help_text="Headers, variables and tokens, encrypted.")
    secret_names = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    renewing_until = models.DateTimeField(
        null=True, editable=False, help_text="Whose turn it is to renew its tokens has so long for it."
    )
    agents = ArrayField(models.CharField(max_length=40), default=default_agents)
    enabled = models.BooleanField(default=True)
    state = models.CharField(max_length=16, choices=ServerState, default=ServerState.NEW)
    last_error = models.TextField(blank=True)
    listed_at = models.DateTimeField(null=True, blank=True, help_text="When its tools were last looked at.")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager["McpServer"]] = ServerQuerySet.as_manager()

    class Meta:
        app_label = "agents"
        ordering = ("name", "id")
        verbose_name = "MCP server"
        constraints = (
            models.UniqueConstraint(
                fields=["owner", "name"], nulls_distinct=False, name="agents_mcp_server_name_unique"
            ),
            models.CheckConstraint(condition=Q(kind__in=ServerKind.values), name="agents_mcp_server_kind_known"),
            models.CheckConstraint(condition=Q(state__in=ServerState.values), name="agents_mcp_server_state_known"),
            # A program is an administrator's to choose, and so is whether a private network may be entered.
            models.CheckConstraint(
                condition=Q(owner=None) | Q(kind=ServerKind.HTTP, is_inner=False), name="agents_mcp_server_own_is_outer"
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def is_own(self) -> bool:
        return self.owner_id is not None


class McpSignIn(models.Model):
    """Somebody on the way through the sign-in of a server: what the process that waits for them is told (OAuth).

    `state`: the random word by which the way back is known. `code_sealed`: what came back with it, encrypted.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    server = models.ForeignKey(McpServer, on_delete=models.CASCADE, related_name="sign_ins")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=200, unique=True)
    code_sealed = models.TextField(blank=True, editable=False)
    is_over = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        app_label = "agents"
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"sign-in to {self.server_id}"


class ToolQuerySet(models.QuerySet["McpTool"]):
    def usable(self) -> "ToolQuerySet":
        return self.filter(allowed=True, pin=F("reviewed_pin"), gone_at=None)


class McpTool(models.Model):
    """A tool of a server. `definition`: as the server described it when it was last looked at; `reviewed_definition`:
    as a person reviewed it. Both are `Definition` as JSON, and each pin is the hash of its definition."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    server = models.ForeignKey(McpServer, on_delete=models.CASCADE, related_name="tools")
    name = models.TextField(help_text="The server's own name for it.")
    called = models.CharField(max_length=63, help_text="Its name here.")
    definition = ExactJSONField()
    pin = models.CharField(max_length=64)
    reviewed_definition = ExactJSONField(null=True, blank=True)
    reviewed_pin = models.CharField(max_length=64, blank=True)
    risk = models.CharField(max_length=12, choices=[(one.value, one.value) for one in Risk], default=Risk.WRITE.value)
    requires_approval = models.BooleanField(default=True)
    allowed = models.BooleanField(default=False)
    reviewed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    reviewed_at = models.DateTimeField(null=True, blank=True)
    found_at = models.DateTimeField(db_default=Now(), editable=False)
    gone_at = models.DateTimeField(null=True, blank=True, help_text="The server does not list it any more.")

    objects: ClassVar[models.Manager["McpTool"]] = ToolQuerySet.as_manager()

    class Meta:
        app_label = "agents"
        ordering = ("called",)
        verbose_name = "MCP tool"
        constraints = (
            models.UniqueConstraint(fields=["server", "name"], name="agents_mcp_tool_name_unique"),
            models.UniqueConstraint(fields=["server", "called"], name="agents_mcp_tool_called_unique"),
            models.CheckConstraint(
                condition=Q(risk__in=[one.value for one in Risk]), name="agents_mcp_tool_risk_known"
            ),
            # What cannot be undone is never done without a yes.
            models.CheckConstraint(
                condition=~Q(risk=Risk.IRREVERSIBLE.value) | Q(requires_approval=True),
                name="agents_mcp_tool_irreversible_asks",
            ),
        )

    def __str__(self) -> str:
        return self.called

    @property
    def now(self) -> Definition:
        return Definition.model_validate(self.definition)

    @property
    def before(self) -> Definition | None:
        return None if self.reviewed_definition is None else Definition.model_validate(self.reviewed_definition)

    @property
    def is_changed(self) -> bool:
        return self.reviewed_pin not in ("", self.pin)

    @property
    def is_usable(self) -> bool:
        return self.allowed and self.pin == self.reviewed_pin and self.gone_at is None
