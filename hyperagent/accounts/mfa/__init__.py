"""Second factors: codes of an app, passkeys, recovery codes. The tables and the arithmetic are django-allauth's; its
pages, addresses, mails and limits are not used.

`factors` and `passkeys` are the verbs, `standing` says how far somebody is let in, `entering` ends every sign-in,
`door_views` has the pages at the door, `views` those of the settings.
"""
