"""Boxes of the service E2B."""
