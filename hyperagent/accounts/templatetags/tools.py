"""How pages call the tools of agents: in what a server draws, and for what the page draws itself."""

from django import template
from django.utils.html import json_script
from django.utils.safestring import SafeString

from hyperagent.lib import tool_labels as labels

register = template.Library()
register.filter("tool_label", labels.tool_label)


@register.simple_tag
def tool_labels() -> SafeString:
    """Read by static/js/tools.js."""
    return json_script(labels.all_labels(), "tool-labels")
