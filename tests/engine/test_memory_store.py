"""The contract suite on the in-memory store."""

from typing import Any
from uuid import UUID

import pytest

from agents.engine.records import EffectRecord, Intervention, Loaded, StepRecord
from agents.engine.run import Journal
from agents.engine.states import InterventionKind
from tests.doubles.memory_journal import MemoryStore
from tests.engine.contract import *  # noqa: F403
from tests.engine.contract import StoreUnderTest


class MemoryUnderTest:
    def __init__(self) -> None:
        self._store = MemoryStore()

    async def new_execution(self) -> UUID:
        return self._store.new_execution()

    async def take_over(self, execution_id: UUID) -> tuple[Journal, Loaded]:
        return self._store.take_over(execution_id)

    async def answer(self, request_id: UUID, value: Any) -> None:
        self._store.answer(request_id, value)

    async def intervene(
        self, execution_id: UUID, kind: InterventionKind, text: str, *, agent_id: UUID | None = None
    ) -> Intervention:
        return self._store.intervene(execution_id, kind, text, agent_id=agent_id)

    async def events(self, execution_id: UUID) -> list[tuple[int, str, bytes]]:
        return [(event.seq, event.body, event.hash) for event in self._store.events(execution_id)]

    async def steps(self, execution_id: UUID) -> list[StepRecord]:
        return self._store.steps(execution_id)

    async def effects(self, execution_id: UUID) -> list[EffectRecord]:
        return self._store.effects(execution_id)


@pytest.fixture
def store() -> StoreUnderTest:
    return MemoryUnderTest()
