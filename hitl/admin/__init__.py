"""Requests in the admin: the queue in which reviewers decide, its audit, and what stands in general."""

from hitl.admin import decisions, home, policies, requests

__all__ = ["decisions", "home", "policies", "requests"]
