"""Why something failed, in the words of whoever looks at a page."""

from django import template

from hyperagent.lib.stored_faults import fault_in_our_words

register = template.Library()
register.filter("fault_words", fault_in_our_words)
