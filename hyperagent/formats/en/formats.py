"""22 Nov 2026 14:02 UTC: Django's own English is that of the United States. The zone is said: it may be anybody's."""

SHORT_DATE_FORMAT = DATE_FORMAT = "j M Y"
SHORT_DATETIME_FORMAT = DATETIME_FORMAT = "j M Y H:i T"
MONTH_DAY_FORMAT = "j F"
