"""django-allauth's apps without its own registrations: those load its flows and ask for its middleware, which
serve pages that are not here.
"""

from django.apps import AppConfig


class AccountConfig(AppConfig):
    """Its table of e-mail addresses, which the second factors cannot be installed without. It stays empty."""

    name = "allauth.account"
    label = "account"
    default_auto_field = "django.db.models.AutoField"


class FactorsConfig(AppConfig):
    """Its table of second factors."""

    name = "allauth.mfa"
    label = "mfa"
    verbose_name = "Second factors"
    default_auto_field = "django.db.models.BigAutoField"
