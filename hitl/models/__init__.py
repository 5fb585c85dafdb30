"""What people are asked, what they answered, and what stands in general: rules, policies, switches."""

from hitl.kinds import RequestKind, RequestStatus
from hitl.models.policies import Policy, Switch
from hitl.models.requests import Decision, Request
from hitl.models.rules import Rule, RuleUse

__all__ = ["Decision", "Policy", "Request", "RequestKind", "RequestStatus", "Rule", "RuleUse", "Switch"]
