"""A provider of single sign-on as a process of its own: django-allauth's OpenID provider, which shares no line with
what we have written to speak with one.
"""
