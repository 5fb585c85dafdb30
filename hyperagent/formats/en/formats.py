"""22 Nov 2026, as in the other languages: Django's own English is that of the United States."""

SHORT_DATE_FORMAT = "j M Y"
SHORT_DATETIME_FORMAT = "j M Y H:i"
