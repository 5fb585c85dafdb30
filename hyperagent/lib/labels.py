"""The labels of tables, columns and choices in the reader's language. Models say them in plain English, most of it made
by Django of a name; once every app is loaded, what pages of the admin show of them becomes texts of the catalogue, and
`found()` tells `make messages` which. Nothing of it reaches a migration: those are made with translations switched off.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from django.apps import AppConfig, apps
from django.contrib.admin.utils import flatten, flatten_fieldsets
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.utils.functional import Promise, lazy
from django.utils.translation import get_language, gettext, gettext_lazy, pgettext, pgettext_lazy

# A word is a column here and a state there, and German tells them apart.
COLUMN: Final = "column"
TABLE: Final = "table"
CHOICE: Final = "choice"
# Where the word alone says too little.
WORDS: Final = {"awaiting_user": "waiting for somebody"}
OURS: Final = frozenset({"hyperagent", "hitl", "memory", "agents", "conversations"})


@dataclass(frozen=True, slots=True)
class Label:
    """`file`: where the name that it was made of is written. Help texts are sentences, and need no context."""

    text: str
    context: str | None
    file: str


_found: dict[Label, None] = {}


def put_words(pages: Mapping[type[models.Model], Any]) -> None:
    """`pages`: what the admin has, by model. Of every model of ours the name, of those with a page what it shows."""
    for config in apps.get_app_configs():
        has_page = any(model in pages for model in config.get_models())
        if has_page or (_is_ours(config) and config.models):
            config.verbose_name = _translated(config.verbose_name, TABLE, config.name)
    for model in apps.get_models():
        if model in pages or _is_ours(model._meta.app_config):
            _name_table(model, with_plural=model in pages)
    for model, page in pages.items():
        for field in fields_shown(model, page):
            _name_column(field, model.__module__)


def found() -> Iterable[Label]:
    """Every text that `put_words` has found, in English."""
    return tuple(_found)


def said(word: object) -> str:
    """A choice or a state in the reader's language; what is not known is said as it is."""
    text = in_words(str(word or ""))
    return pgettext(CHOICE, text) if text else ""


def in_words(word: str) -> str:
    """timed_out: timed out."""
    return WORDS.get(word) or word.replace("_", " ")


def permission(one: Any) -> str:
    """A permission of Django's, whose name it has stored in English."""
    verb, _, model = one.codename.partition("_")
    ways = {
        "add": pgettext("permission", "add"),
        "change": pgettext("permission", "change"),
        "delete": pgettext("permission", "delete"),
        "view": pgettext("permission", "view"),
    }
    is_stock = verb in ways and model == one.content_type.model
    return f"{one.content_type} | {ways[verb] if is_stock else gettext(one.name)}"


def _is_ours(config: AppConfig | None) -> bool:
    return config is not None and config.name.partition(".")[0] in OURS


def _name_table(model: type[models.Model], *, with_plural: bool) -> None:
    meta = model._meta
    if with_plural:
        is_made_of_singular = "verbose_name_plural" not in meta.original_attrs
        if is_made_of_singular and not isinstance(meta.verbose_name, Promise):
            # By Django, as a text that would add an s in every language.
            meta.verbose_name_plural = str(meta.verbose_name_plural)
        meta.verbose_name_plural = _translated(meta.verbose_name_plural, TABLE, model.__module__)
        for _codename, name in meta.permissions:
            _translated(name, None, model.__module__)
    meta.verbose_name = _translated(meta.verbose_name, TABLE, model.__module__)


def fields_shown(model: type[models.Model], page: Any) -> Iterator[Any]:
    """The columns of a page's list and of its rows' pages."""
    of_form: Any = getattr(getattr(page.form, "_meta", None), "fields", None)
    names = {*flatten(list(page.list_display))}
    names |= {one[0] if isinstance(one, tuple) else one for one in page.list_filter}
    if page.fieldsets:
        names |= {*flatten_fieldsets(page.fieldsets)}
    elif columns := page.fields or (of_form if isinstance(of_form, tuple) else ()):
        names |= {*flatten(columns)}
    else:
        kept_back = {*(page.exclude or ())}
        names |= {field.name for field in (*model._meta.fields, *model._meta.many_to_many)} - kept_back
    for name in sorted(name for name in names if isinstance(name, str)):
        with suppress(FieldDoesNotExist):  # a method of the page
            yield model._meta.get_field(name)


def _name_column(field: Any, module: str) -> None:
    field.verbose_name = _translated(field.verbose_name, COLUMN, module)
    if field.help_text:
        field.help_text = _translated(field.help_text, None, module)
    if field.choices:
        field.choices = [(value, _choice(label, module)) for value, label in field.flatchoices]


def _choice(label: Any, module: str) -> Any:
    """What has a dot in it is a code, such as run.completed."""
    if isinstance(label, Promise) or "." in label:
        return label
    _translated(in_words(label), CHOICE, module)
    return _lazily_called(label)


def _called(label: str) -> str:
    """In a migration, as the model has it: where translations are switched off, there is no language at all."""
    return label if get_language() is None else said(label)


_lazily_called = lazy(_called, str)


def _translated(text: Any, context: str | None, module: str) -> Any:
    """As a text of the catalogue, remembered; what is one already stays."""
    if isinstance(text, Promise) or not text:
        return text
    _found[Label(text, context, f"{module.replace('.', '/')}.py")] = None
    return pgettext_lazy(context, text) if context else gettext_lazy(text)
