"""`{{ text|coded }}`: what stands between backticks in it is something to type, and is set like it."""

import re

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def coded(text: object) -> SafeString:
    return SafeString(re.sub(r"`([^`]+)`", r"<code>\1</code>", conditional_escape(str(text))))
