"""What the endpoints of rules and switches take and give, for checking what comes in and for the API's description.
Values: `hitl.standing_shapes`; what a person may ask to be remembered: `hitl.remembering`.
"""

from enum import StrEnum
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hitl.kinds import ONCE, Op, RuleEffect, RuleScope, SwitchScope
from hitl.remembering import MAX_CONDITIONS, MAX_USES
from hitl.rules import EFFECTS
from hitl.switches import MAX_REASON_CHARS
from hyperagent.lib.api import OneOf

REMEMBER_SCOPES = [ONCE, *(scope.value for scope in RuleScope)]
SWITCH_SCOPES = [scope.value for scope in SwitchScope]
"""By their values: the API's description names them by this list."""
STATES = ("standing", "revoked", "over", "used_up")


def _words(words: type[StrEnum]) -> list[tuple[str, str]]:
    return [(word.value, word.name) for word in words]


class ConditionSerializer(serializers.Serializer[Any]):
    """All have to hold. For what allows, every item of a list has to fit; for what denies, one is enough."""

    path = serializers.CharField(help_text="An argument, or dotted for what is within one.")
    op = serializers.ChoiceField(choices=_words(Op))
    value = serializers.JSONField(
        help_text="one_of: a list; at_most: a number; domain: as in example.org, itself only; matches: a pattern for"
        " the whole text, in which * is anything without a slash, ** anything, ? one character."
    )


class RememberSerializer(serializers.Serializer[Any]):
    """How far a decision is to reach: this run, this conversation, or as a rule all of the person's runs."""

    scope = serializers.ChoiceField(choices=REMEMBER_SCOPES, help_text="`once`: this decision alone, and no rule.")
    conditions = ConditionSerializer(many=True, required=False, help_text=f"At most {MAX_CONDITIONS}.")
    until = serializers.DateTimeField(required=False, allow_null=True)
    uses = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MAX_USES, help_text="Only for what allows."
    )
    text = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="The rule in words as the preview showed it. If it now reads otherwise nothing is decided: 409.",
    )


@extend_schema_field(RememberSerializer)
class RememberField(serializers.JSONField):
    """Read by `hitl.remembering.remember_from`, for every door alike."""


class RuleSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(allow_null=True, help_text="null in a preview.")
    effect = serializers.ChoiceField(choices=_words(RuleEffect))
    scope = serializers.ChoiceField(choices=_words(RuleScope))
    execution_id = serializers.UUIDField(allow_null=True)
    conversation_id = serializers.UUIDField(allow_null=True)
    tool = serializers.CharField()
    agent_name = serializers.CharField()
    conditions = ConditionSerializer(many=True)
    text = serializers.CharField(help_text="The rule in words, as it was shown before it was saved.")
    until = serializers.DateTimeField(allow_null=True)
    max_uses = serializers.IntegerField(allow_null=True)
    uses = serializers.IntegerField()
    state = serializers.ChoiceField(choices=[(state, state) for state in STATES])
    made_from = serializers.UUIDField(allow_null=True, help_text="The request on whose card it was made.")
    created_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    revoked_by = serializers.UUIDField(allow_null=True)
    revoked_by_name = serializers.CharField()


class AskPreviewSerializer(serializers.Serializer[Any]):
    request_id = serializers.UUIDField()
    decision = OneOf(EFFECTS)
    remember = RememberField()
    edited_arguments = serializers.DictField(required=False, allow_null=True, help_text="As they will be sent.")


class PreviewSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    rule = RuleSerializer()


class SwitchSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    scope = OneOf(SwitchScope)
    target = serializers.CharField(help_text="The agent's or tool's name, or the user's id.")
    target_name = serializers.CharField(help_text="The same, or the user's e-mail address.")
    target_checked = serializers.BooleanField(
        help_text="Whether it is known that there is such a target. Names of agents and tools are not looked up."
    )
    reason = serializers.CharField()
    thrown_by = serializers.UUIDField(allow_null=True)
    thrown_by_name = serializers.CharField()
    thrown_at = serializers.DateTimeField()
    lifted_by = serializers.UUIDField(allow_null=True)
    lifted_by_name = serializers.CharField()
    lifted_at = serializers.DateTimeField(allow_null=True)


class ThrowSerializer(serializers.Serializer[Any]):
    scope = OneOf(SwitchScope)
    target = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=254,
        help_text="The name of the agent or tool, or the id or e-mail address of the user. None for the installation.",
    )
    reason = serializers.CharField(max_length=MAX_REASON_CHARS, help_text="Those whose runs are stopped read it.")
