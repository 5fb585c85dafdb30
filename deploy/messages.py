"""The texts that people read, in other languages: collects them from the code, compiles what translators wrote, and
says what is missing. Knows nothing of any language; the catalogues under locale/ hold the words.

    python -m deploy.messages            collects anew into locale/*/LC_MESSAGES/*.po, then compiles
    python -m deploy.messages --check    changes nothing; a line for each fault

Without GNU gettext: Python is read by its own parser, templates by Django's lexer, modules by a small tokenizer that
knows nested templates, and models are asked for the labels that are made of their names; Babel reads and writes the
catalogues. The compiled ones are committed: users need none of this.
"""

import ast
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import django
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.apps import apps
from django.template.base import Lexer, Token, TokenType
from django.utils.text import unescape_string_literal
from django.utils.translation import trim_whitespace

from deploy.module_texts import calls_in
from hyperagent.lib import labels

ROOT: Final = Path(__file__).resolve().parents[1]
LOCALE: Final = ROOT / "locale"
SERVER, PAGE = "django", "djangojs"
PYTHON_FOLDERS: Final = ("hyperagent", "hitl", "memory", "agents", "conversations")
SKIPPED: Final = {"migrations", "starters", "vendor", "__pycache__"}
# Which arguments are the text, its plural and its context.
PYTHON_CALLS: Final = {
    "_": (0, None, None),
    "gettext": (0, None, None),
    "gettext_lazy": (0, None, None),
    "gettext_noop": (0, None, None),
    "ngettext": (0, 1, None),
    "ngettext_lazy": (0, 1, None),
    "pgettext": (1, None, 0),
    "pgettext_lazy": (1, None, 0),
    "npgettext": (1, 2, 0),
    "npgettext_lazy": (1, 2, 0),
}
COMPILED: Final = ROOT / "static" / "js" / "catalogue"
PAGE_CALLS: Final = {
    "t": (0, None, None),
    "parts": (0, None, None),
    "tn": (0, 1, None),
    "tc": (1, None, 0),
    # Sentences that runs tell: static/js/told.js.
    "said": (0, None, None),
}
# Of both kinds of formatting in Python, and of the page's.
_PLACEHOLDER: Final = re.compile(r"%\(\w+\)[#0\- +]*\d*(?:\.\d+)?[a-zA-Z]|%%|\{\w*\}")
_IN_TAGS: Final = re.compile(r"""_\(("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\)""")
_PLURAL_RULE: Final = re.compile(r"[n0-9!=<>&|%?:() ]+")


@dataclass(frozen=True, slots=True)
class Found:
    """A text in the code."""

    text: str
    plural: str | None
    context: str | None
    file: str
    domain: str


# ── collecting ────────────────────────────────────────────────────────────────────────────────────────────────────────


def collect() -> list[Found]:
    found: list[Found] = []
    for folder in PYTHON_FOLDERS:
        found += _in_files(ROOT / folder, ".py", python_texts)
    found += _in_files(ROOT / "templates", ".html", template_texts)
    found += _in_files(ROOT / "templates", ".txt", template_texts)
    found += _in_files(ROOT / "static" / "js", ".js", module_texts)
    return [*found, *label_texts()]


def _in_files(folder: Path, ending: str, texts: Callable[[str, str], Iterator[Found]]) -> Iterator[Found]:
    for path in sorted(folder.rglob(f"*{ending}")):
        if not SKIPPED & set(path.relative_to(folder).parts) and COMPILED not in path.parents:
            yield from texts(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())


def python_texts(source: str, file: str) -> Iterator[Found]:
    """Of the calls of gettext by any of its names, those with literal texts."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if (places := PYTHON_CALLS.get(name)) is not None:
            values = [one.value if isinstance(one, ast.Constant) else None for one in node.args]
            yield from _found(values, places, file, SERVER)


def template_texts(source: str, file: str) -> Iterator[Found]:
    """`{% translate %}`, `{% blocktranslate %}` and `_("…")` in any tag, as Django will look for them: % doubled."""
    tokens = iter(Lexer(source).tokenize())
    for token in tokens:
        if token.token_type is TokenType.BLOCK:
            name, *bits = token.split_contents()
            if name in ("translate", "trans") and bits[0][0] in "\"'":
                yield Found(_literal(bits[0]), None, _context(bits), file, SERVER)
            elif name in ("blocktranslate", "blocktrans"):
                one, many = _block(tokens, is_trimmed="trimmed" in bits)
                yield Found(one, many, _context(bits), file, SERVER)
        if token.token_type in (TokenType.BLOCK, TokenType.VAR):
            for literal in _IN_TAGS.findall(token.contents):
                yield Found(_literal(literal), None, None, file, SERVER)


def _block(tokens: Iterator[Token], *, is_trimmed: bool) -> tuple[str, str | None]:
    """Reads up to the block's end."""
    forms: list[str] = [""]
    for token in tokens:
        if token.token_type is TokenType.BLOCK:
            if token.contents.strip() != "plural":
                break
            forms.append("")
        elif token.token_type is TokenType.VAR:
            forms[-1] += f"%({token.contents})s"
        elif token.token_type is TokenType.TEXT:
            forms[-1] += token.contents.replace("%", "%%")
    forms = [trim_whitespace(form) if is_trimmed else form for form in forms]
    return forms[0], forms[1] if len(forms) > 1 else None


def _context(bits: Sequence[str]) -> str | None:
    return _literal(bits[bits.index("context") + 1]) if "context" in bits else None


def _literal(quoted: str) -> str:
    return str(unescape_string_literal(quoted)).replace("%", "%%")


def module_texts(source: str, file: str) -> Iterator[Found]:
    for name, values in calls_in(source, PAGE_CALLS):
        yield from _found(values, PAGE_CALLS[name], file, PAGE)


def label_texts() -> Iterator[Found]:
    """Of tables, columns and choices: `hyperagent.lib.labels` makes texts of them once every app is loaded."""
    if not apps.ready:
        # Nothing is asked of any server.
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")
        os.environ.setdefault("SECRET_KEY", "nothing-is-signed-while-texts-are-collected")
        os.environ.setdefault("DATABASE_URL", "postgresql://localhost/nobody-connects")
        os.environ.setdefault("REDIS_URL", "redis://localhost:1/0")
        django.setup()
    for label in labels.found():
        yield Found(label.text, None, label.context, label.file, SERVER)


def _found(
    values: Sequence[object], places: tuple[int, int | None, int | None], file: str, domain: str
) -> Iterator[Found]:
    one, many, context = (values[at] if at is not None and at < len(values) else None for at in places)
    if isinstance(one, str) and one:
        yield Found(
            one,
            many if isinstance(many, str) else None,
            context if isinstance(context, str) else None,
            file,
            domain,
        )


# ── the catalogues ────────────────────────────────────────────────────────────────────────────────────────────────────


def languages() -> list[str]:
    return sorted(path.name for path in LOCALE.iterdir() if (path / "LC_MESSAGES").is_dir())


def catalogue_file(language: str, domain: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / f"{domain}.po"


def read_catalogue(language: str, domain: str) -> Catalog:
    path = catalogue_file(language, domain)
    if not path.exists():
        return Catalog(locale=language, domain=domain, fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale=language, domain=domain)


def written(catalogue: Catalog) -> bytes:
    """The same bytes for the same texts: no line numbers, no dates of this day."""
    file = io.BytesIO()
    write_po(file, catalogue, width=110, sort_output=True, include_lineno=False, ignore_obsolete=True)
    return file.getvalue()


def brought_up_to_date(catalogue: Catalog, found: Iterable[Found]) -> Catalog:
    """With just the texts that are found; what was translated stays so, what is new is empty."""
    template = Catalog(domain=catalogue.domain, creation_date=catalogue.creation_date)
    for one in found:
        text: Any = (one.text, one.plural) if one.plural else one.text
        if one.plural is None and (known := template.get(one.text, one.context)) is not None and known.pluralizable:
            text = known.id
        template.add(text, locations=[(one.file, 0)], context=one.context)
    catalogue.update(template, no_fuzzy_matching=True, update_header_comment=False)
    catalogue.obsolete.clear()
    return catalogue


# ── compiling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def compiled(catalogue: Catalog) -> bytes:
    """What the server reads."""
    file = io.BytesIO()
    write_mo(file, catalogue, use_fuzzy=False)
    return file.getvalue()


def compiled_for_the_page(catalogue: Catalog) -> bytes:
    """The script that static/js/i18n.js tells of."""
    rule = str(catalogue.plural_expr)
    if not _PLURAL_RULE.fullmatch(rule):
        raise SystemExit(f"{catalogue.locale}: '{rule}' is no plural rule: numbers, n and operators are.")
    messages: dict[str, str | list[str]] = {}
    for message in sorted((one for one in catalogue if one.id and one.string), key=lambda one: str(one.id)):
        key, forms = _forms(message.id)[0], _forms(message.string)
        if forms == [key]:
            continue  # it is itself without being told
        said = forms if message.pluralizable else forms[0]
        messages[f"{message.context}\u0004{key}" if message.context else key] = said
    as_json = json.dumps(messages, ensure_ascii=False, separators=(",", ":"))
    script = f'{{"language":"{catalogue.locale}","plural":(n)=>Number({rule}),"messages":{as_json}}}'
    return f"/* Of locale/, by make messages. */\nglobalThis.hyperagentMessages={script};\n".encode()


def compiled_files(language: str) -> dict[Path, bytes]:
    page = ROOT / "static" / "js" / "catalogue" / f"{language}.js"
    return {
        catalogue_file(language, SERVER).with_suffix(".mo"): compiled(read_catalogue(language, SERVER)),
        page: compiled_for_the_page(read_catalogue(language, PAGE)),
    }


# ── what is wrong ─────────────────────────────────────────────────────────────────────────────────────────────────────


def faults(language: str, found: Sequence[Found]) -> list[str]:
    """A line for each text that is missing, unfinished, over, or holds other placeholders than its original."""
    wrong: list[str] = []
    for domain in (SERVER, PAGE):
        catalogue = read_catalogue(language, domain)
        texts = {(one.text, one.context): one for one in found if one.domain == domain}
        for (text, context), one in texts.items():
            if catalogue.get(text, context) is None:
                wrong.append(f"{one.file}: {text!r} is not in {domain}.po. Run make messages, and translate it.")
        for message in catalogue:
            if message.id:
                key = _forms(message.id)[0]
                is_used = (key, message.context) in texts
                wrong += [f"{domain}.po: {key!r} {fault}." for fault in _faults_of(message, is_used=is_used)]
    for path, content in compiled_files(language).items():
        if not path.exists() or path.read_bytes() != content:
            wrong.append(f"{path.relative_to(ROOT)} is not what the catalogue says. Run make messages.")
    return wrong


def _faults_of(message: Message, *, is_used: bool) -> Iterator[str]:
    forms, ids = _forms(message.string), _forms(message.id)
    if not is_used:
        yield "is nowhere in the code"
    if message.fuzzy:
        yield "is marked as fuzzy"
    if not all(forms):
        yield "is not translated"
        return
    wanted = set(_PLACEHOLDER.findall(ids[-1]))
    for form in forms:
        has = set(_PLACEHOLDER.findall(form))
        # "One file" may leave out its number.
        if has - wanted or (wanted - has and (not message.pluralizable or form == forms[-1])):
            yield f"has the placeholders {sorted(wanted)}, its translation {sorted(has)}"


def _forms(text: Any) -> list[str]:
    """Babel has a text, or its plural forms."""
    return [text] if isinstance(text, str) else [form or "" for form in text or ("",)]


def main(arguments: Sequence[str]) -> int:
    found = collect()
    if "--check" not in arguments:
        _bring_up_to_date(found)
    wrong = [f"{language}: {fault}" for language in languages() for fault in faults(language, found)]
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    return 1 if wrong else 0


def _bring_up_to_date(found: Sequence[Found]) -> None:
    for language in languages():
        for domain in (SERVER, PAGE):
            texts = [one for one in found if one.domain == domain]
            catalogue = brought_up_to_date(read_catalogue(language, domain), texts)
            catalogue_file(language, domain).write_bytes(written(catalogue))
        for path, content in compiled_files(language).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
