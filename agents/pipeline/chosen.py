"""What was attached to a question or chosen for it, as its options say. Pure."""

from typing import Final

from agents.craft.exchange import AttachmentKind, Options

TABLES: Final = frozenset({"csv", "xlsx", "xls", "ods"})
"""Kinds of documents of which programs know more than a search."""


def chosen_ids(options: Options) -> tuple[str, ...]:
    """What was attached or chosen, each once, in its order."""
    return tuple(dict.fromkeys((*options.attachment_ids, *options.document_ids)))


def has_documents(options: Options) -> bool:
    """Whether something among it can be searched, now or soon. What nobody has looked up may be such a document."""
    if options.attached is None:
        return bool(chosen_ids(options))
    return any(one.kind is AttachmentKind.DOCUMENT for one in options.attached)


def has_only_tables(options: Options) -> bool:
    """Whether tables are attached, and nothing else."""
    return bool(options.attached) and all(one.doc_type in TABLES for one in options.attached or ())
