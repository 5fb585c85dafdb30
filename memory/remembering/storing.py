"""How findings become memories: one transaction, once for each finding whatever is done again. What becomes of one is
decided in `storing_rules`.
"""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from pgvector.django import CosineDistance

from hyperagent.accounts.models import User
from hyperagent.lib.clipping import one_line
from hyperagent.lib.text import clean_text
from memory.embedding.asking import QueryVector, texts_vectors
from memory.embedding.wake import wake
from memory.kinds import MemoryKind, MemoryStatus, ProfileField
from memory.models import Memory
from memory.remembering.forgetting import forget_rows, matching
from memory.remembering.sameness import found_by, terms
from memory.remembering.storing_rules import EXCERPT_CHARS, TEXT_CHARS, VALUE_CHARS, Already, decide
from memory.remembering.switch import is_on
from memory.remembering.values import Finding, Known, Learned, Said

PATIENCE_S: Final = 1.0
"""How long the vectors of new memories are waited for; without them the embedder makes them later."""
CLOSEST: Final = 5
COMPARED: Final = 500
_LIVE: Final = (MemoryStatus.ACTIVE, MemoryStatus.QUARANTINED)


def store(
    user_id: UUID, findings: Sequence[Finding], said: Said, *, forget: Sequence[ProfileField | str] = ()
) -> list[Learned]:
    """What became of each finding, and what was forgotten as the person asked. Nothing for who is not remembered.

    The same `said.origin` again gives the same answer and changes nothing. The vectors are asked for before the
    transaction, so that nobody waits for an embedder with locks in hand.
    """
    findings = [clean for finding in findings if (clean := _cleaned(finding)) is not None]
    spoken = [finding.text for finding in findings]
    vectors = texts_vectors(spoken, timeout_s=PATIENCE_S, payer=user_id) if spoken else None
    with transaction.atomic():
        # Of two runs of one person the second sees what the first stored.
        user = User.objects.select_for_update(no_key=True).filter(pk=user_id).first()
        if user is None or not is_on(user):
            return []
        learned = [*_forgotten(user, forget, said)]
        for ordinal, finding in enumerate(findings):
            vector = vectors[ordinal] if vectors else None
            learned += _stored(user, finding, said, f"{said.origin}:{ordinal}", vector)
        if not vectors and any(one.became != "known" for one in learned):
            wake()
    return learned


def _cleaned(finding: Finding) -> Finding | None:
    text = one_line(clean_text(finding.text))
    limit = VALUE_CHARS if finding.field else TEXT_CHARS
    if not text or len(text) > limit:
        return None
    evidence = one_line(clean_text(finding.evidence))[:EXCERPT_CHARS]
    return Finding(finding.kind, text, finding.field, evidence, finding.replaces)


def _stored(user: User, finding: Finding, said: Said, key: str, vector: QueryVector | None) -> list[Learned]:
    before = Memory.objects.of(user).filter(origin_key=key).first()
    if before is not None:
        return [Learned(before.id, _became(before), finding.kind, finding.field)]
    if _was_forgotten(user, finding, said):
        return []
    decision = decide(finding, _known(user, finding, vector))
    if isinstance(decision, Already):
        return [Learned(decision.id, "known", finding.kind, finding.field)]
    row = Memory.objects.create(
        user=user,
        kind=finding.kind,
        field=finding.field or "",
        text=finding.text,
        status=decision.status,
        reason=decision.reason,
        replaces_id=decision.replaces,
        said_at=said.at,
        source_conversation=said.conversation,
        source_execution=said.execution,
        source_turn=said.turn,
        source_excerpt=finding.evidence or finding.text[:EXCERPT_CHARS],
        terms=found_by(finding.text, finding.evidence),
        origin_key=key,
        embedded_by=vector.model if vector else "",
        embedding=vector.values if vector else None,
    )
    supersede(user, decision.supersedes, by=row)
    became = "replaced" if decision.supersedes else _became(row)
    return [Learned(row.id, became, finding.kind, finding.field)]


def supersede(user: User, ids: Sequence[UUID], *, by: Memory) -> None:
    """They are no longer true; they stay as the history of what took their place."""
    reason = f"Something newer took its place on {timezone.now():%Y-%m-%d}."
    Memory.objects.of(user).filter(pk__in=ids, status=MemoryStatus.ACTIVE).update(
        status=MemoryStatus.SUPERSEDED, superseded_by=by, reason=reason, is_pinned=False
    )


def _became(row: Memory) -> str:
    if row.status == MemoryStatus.QUARANTINED:
        return "quarantined"
    return "replaced" if row.supersedes.exists() else "learned"


def _was_forgotten(user: User, finding: Finding, said: Said) -> bool:
    """What somebody had forgotten does not come back when the same message is answered again."""
    if not said.turn:
        return False
    gone = Memory.objects.of(user).filter(status=MemoryStatus.FORGOTTEN, source_turn=said.turn)
    return gone.filter(kind=finding.kind, field=finding.field or "").exists()


def _known(user: User, finding: Finding, vector: QueryVector | None) -> list[Known]:
    """What the finding may repeat or contradict: the same field, shared words, what it names, what is close."""
    live = Memory.objects.of(user).filter(status__in=_LIVE)
    close = _closest(user, vector)
    alike = Q(terms__overlap=terms(finding.text)) | Q(pk__in=[*close, *filter(None, [finding.replaces])])
    if finding.field:
        alike |= Q(field=finding.field)
    rows = live.filter(alike).defer("embedding").order_by("-said_at", "id")[:COMPARED]
    return [_as_known(row, close.get(row.id)) for row in rows]


def _closest(user: User, vector: QueryVector | None) -> dict[UUID, float]:
    if vector is None:
        return {}
    rows = Memory.objects.of(user).filter(status__in=_LIVE, embedded_by=vector.model)
    near = rows.annotate(distance=CosineDistance("embedding", vector.values)).order_by("distance")
    return {id_: 1 - distance for id_, distance in near.values_list("id", "distance")[:CLOSEST]}


def _as_known(row: Memory, closeness: float | None) -> Known:
    return Known(
        id=row.id,
        kind=MemoryKind(row.kind),
        text=row.text,
        field=ProfileField(row.field) if row.field else None,
        status=MemoryStatus(row.status),
        is_pinned=row.is_pinned,
        is_corrected=row.corrected_at is not None,
        closeness=closeness,
    )


def _forgotten(user: User, wishes: Sequence[ProfileField | str], said: Said) -> list[Learned]:
    """All that is meant but what the same message taught: it is there already where its step is done again."""
    own = f"{said.origin}:"
    found = [row for wish in wishes for row in matching(user, wish) if not row.origin_key.startswith(own)]
    forget_rows(user, found)
    return [
        Learned(row.id, "forgotten", MemoryKind(row.kind), ProfileField(row.field) if row.field else None)
        for row in found
    ]
