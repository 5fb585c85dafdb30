"""Boxes as containers of a Docker engine."""
