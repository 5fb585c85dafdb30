"""Closed places where code of models runs. `base` is the interface; each provider is a folder; see README.md."""
