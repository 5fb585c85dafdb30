"""Scanners of texts and calls, what is made of their findings, and the record of it."""
