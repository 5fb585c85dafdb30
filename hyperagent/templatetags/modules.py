"""`{% module_preloads "js/chat.js" … %}`: the browser is told at once of every module that these need."""

from functools import cache

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from hyperagent.module_graph import modules_of
from hyperagent.static_files import files

register = template.Library()


@register.simple_tag
def module_preloads(*entries: str) -> SafeString:
    """Nothing while the program is being written: what is imported changes under the process."""
    found = () if settings.DEBUG else (module for entry in entries for module in _modules(entry))
    modules = dict.fromkeys(found)
    return format_html_join("\n", '<link rel="modulepreload" href="{}">', ((static(name),) for name in modules))


@cache
def _modules(entry: str) -> tuple[str, ...]:
    return modules_of(entry, lambda name: files()[name].read_text())
