"""What administrators decide: who approves what, and what is switched off."""

import uuid
from collections.abc import Collection
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from hitl.kinds import ApproverKind, PolicyAction, Risk, SwitchScope
from hitl.models.choices import choices
from hyperagent.accounts.models import User


class Policy(models.Model):
    """Who decides about calls of a tool, a risk, an agent, in whose runs. The first enabled one that fits counts; empty
    fits all. No group and no person goes while a policy is about them: it would be about everybody then.
    """

    name = models.CharField(max_length=120, unique=True)
    position = models.PositiveIntegerField(default=100, help_text="Smaller ones are looked at first.")
    is_enabled = models.BooleanField(default=True)
    tool = models.CharField(max_length=120, blank=True, help_text="Empty: every tool.")
    risk = models.CharField(max_length=8, blank=True, choices=choices(Risk), help_text="Empty: every risk.")
    agent_name = models.CharField(max_length=64, blank=True, help_text="Empty: every agent.")
    for_group = models.ForeignKey(
        Group,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Only runs of its members. Empty: everybody's.",
    )
    for_person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Only this person's runs; those of a service account are its own. Empty: everybody's.",
    )
    action = models.CharField(
        max_length=8,
        default=PolicyAction.DEFAULT,
        choices=choices(PolicyAction),
        help_text="default: ask if the tool says so; ask: always; allow: never ask; deny: never carried out.",
    )
    approver_kind = models.CharField(max_length=8, default=ApproverKind.SELF, choices=choices(ApproverKind))
    approver_role = models.CharField(
        max_length=32, blank=True, choices=[(role, role) for role in ("reviewer", "auditor", "administrator")]
    )
    approver_group = models.ForeignKey(Group, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    approvers = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="+")
    require_different_person = models.BooleanField(
        default=False, help_text="Whoever's run asks may not decide, be they an approver or not."
    )
    allow_rules = models.BooleanField(
        default=False, help_text="Standing rules may cover calls of this policy even if they cannot be undone."
    )
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "policies"
        ordering = ("position", "id")

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Raises ValidationError, naming every fault. The people named are looked at by `named_fault`: they are stored
        after the row.
        """
        faults = {}
        if self.for_group_id is not None and self.for_person_id is not None:
            faults["for_person"] = _(
                "A policy is about the runs of a group or of a person. Make two, or leave one out."
            )
        if self.approver_kind == ApproverKind.ROLE and not self.approver_role:
            faults["approver_role"] = _("Choose the role whose holders decide, or another kind of approver.")
        if self.approver_kind == ApproverKind.GROUP and self.approver_group_id is None:
            faults["approver_group"] = _("Choose the group whose members decide, or another kind of approver.")
        if self.approver_kind == ApproverKind.SELF and self.require_different_person:
            faults["require_different_person"] = _(
                "The run's own user decides by this policy, so nobody could. Name other approvers, or leave this out."
            )
        if faults:
            raise ValidationError(faults)


def named_fault(kind: str, people: Collection[User]) -> str:
    """What is wrong with the people whom a policy is to name; "" if nothing is."""
    if kind != ApproverKind.NAMED or any(person.is_active and not person.is_service for person in people):
        return ""
    return _("Name at least one active person, or choose another kind of approver.")


class SwitchQuerySet(models.QuerySet["Switch"]):
    def thrown(self) -> "SwitchQuerySet":
        return self.filter(lifted_at=None)


class Switch(models.Model):
    """A kill switch that somebody threw: while it is not lifted, no effect of its scope begins."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    scope = models.CharField(max_length=16, choices=choices(SwitchScope))
    target = models.CharField(
        max_length=120, blank=True, help_text="The agent's or tool's name, or the user's id; empty: the installation."
    )
    reason = models.TextField()
    thrown_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    thrown_at = models.DateTimeField(db_default=Now(), editable=False)
    lifted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    lifted_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Switch"]] = SwitchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "switches"
        ordering = ("-thrown_at", "-id")
        constraints = (
            models.UniqueConstraint(
                fields=["scope", "target"], condition=models.Q(lifted_at=None), name="hitl_switch_thrown_once"
            ),
            models.CheckConstraint(
                condition=models.Q(scope="installation", target="")
                | (~models.Q(scope="installation") & ~models.Q(target="")),
                name="hitl_switch_target_named",
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_scope_display()} {self.target}".strip()
