"""Questions to people, each a recorded step: opened once, answered for good, waited for by one agent or by several."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from agents.engine import questions
from agents.engine.canonical import digest, plain
from agents.engine.journal import asks_open, question_key, shared_key
from agents.engine.place import Place
from agents.engine.records import AgentRecord, Announced, Asked, Path, Record, StepRecord
from agents.engine.states import AgentStatus, StepKind, StepStatus
from agents.engine.tree import with_event


class Asking(Place):
    """What an agent asks people. Until it has the answer it is `awaiting_user`; the agents above it are not."""

    async def ask(self, kind: str, question: Any) -> Any:
        """Asks a person and waits, for days if need be; returns the answer as `hitl` recorded it.

        What somebody said to the same question of this agent before a cut of its journal is not asked again.
        """
        question = plain(question)
        hashed = digest(questions.essence(kind, question))
        ordinal = self._ordinal("ask", kind, hashed)
        lineage = self.agent.lineage
        key = question_key(
            self.run.execution_id, lineage, self._branches, kind=kind, essence_hash=hashed, ordinal=ordinal
        )
        return await self._ask(self._question_step(self._next_path(), kind, question, key=key), question)

    async def ask_anew(self, kind: str, question: Any) -> Any:
        """The same for a question whose answer holds for this moment only: a cut forgets it."""
        question = plain(question)
        return await self._ask(self._question_step(self._next_path(), kind, question, key=""), question)

    async def ask_together(self, kind: str, name: str, question: Callable[[], Any]) -> Any:
        """One question of the whole run, by its name: whoever asks it waits for the same answer, or has it at once.

        The first that comes opens it, with what `question` makes, in the name of the run's root. It stays open as long
        as one of them waits. A replay makes no question and may go by without one: only the name is recorded.
        """
        key = shared_key(self.run.execution_id, name)
        step = self._question_step(self._next_path(), kind, {"shared": name}, key=key)
        recorded = self._recorded(step.path, StepKind.ASK, kind, step.request_hash)
        if recorded is None:
            self._check_boundary()
            answered = self.run.answered_together(key)
            if answered is not None:
                return self._take(step, answered.response)
            request_id = self.run.asked_together(key)
            if request_id is None:
                recorded = self._open(step, plain(question()), asking=self.run.root)
            else:
                recorded = self._wait_with_others(step, request_id)
        return await self._answer(
            recorded, asking=self.run.root, is_told=lambda: self.run.answered_together(key) is not None
        )

    # --- inside

    async def _ask(self, step: StepRecord, question: Any) -> Any:
        recorded = self._recorded(step.path, StepKind.ASK, step.name, step.request_hash)
        agent = self.run.agent(self.agent.id)
        if recorded is None:
            self._check_boundary()
            known = self.run.loaded.answered.get(step.effect_key)
            # Who gave an agent other instructions wants to be asked again.
            if known is not None and questions.is_said(known.response) and not agent.modified:
                return self._take(step, known.response)
            recorded = self._open(step, question, asking=agent)
        return await self._answer(recorded, asking=agent)

    def _question_step(self, path: Path, kind: str, request: Any, *, key: str) -> StepRecord:
        status = StepStatus.STARTED
        return StepRecord(self.agent.id, path, StepKind.ASK, kind, request, digest(request), status, effect_key=key)

    def _open(self, step: StepRecord, question: Any, *, asking: AgentRecord) -> StepRecord:
        request_id = uuid4()
        step = replace(step, response={"request_id": str(request_id)})
        above = self._from_first_level(asking)
        event = questions.opened(
            request_id,
            asking.name,
            step.name,
            question,
            root_agent_id=above[0].id,
            agent_path=tuple(agent.name for agent in above),
            timeout_s=self.run.answered_within_s(step.name),
        )
        self._record(
            step,
            Asked(request_id, asking.id, asking.name, step.name, question),
            *self._waits(),
            Announced(asking.id, event),
        )
        return step

    def _from_first_level(self, agent: AgentRecord) -> list[AgentRecord]:
        """The agents from the one below the run's root, for which this one works, down to this one."""
        found = [agent]
        while agent.parent_id is not None and (agent := self.run.agent(agent.parent_id)).parent_id is not None:
            found.append(agent)
        return found[::-1]

    def _wait_with_others(self, step: StepRecord, request_id: UUID) -> StepRecord:
        step = replace(step, response={"request_id": str(request_id)})
        self._record(step, *self._waits())
        return step

    def _waits(self) -> tuple[Record, ...]:
        agent = self.run.agent(self.agent.id)
        if agent.status is AgentStatus.AWAITING_USER:
            return ()
        return with_event(replace(agent, status=AgentStatus.AWAITING_USER))

    def _take(self, step: StepRecord, answer: Any) -> Any:
        """Records an answer that was given before. Nobody is asked, so nobody is told."""
        self._record(replace(step, status=StepStatus.FINISHED, response=answer))
        return answer

    async def _answer(
        self, step: StepRecord, *, asking: AgentRecord, is_told: Callable[[], bool] = lambda: False
    ) -> Any:
        """`is_told`: whether people have seen meanwhile how the question ended."""
        if step.status is StepStatus.FINISHED:
            return step.response
        request_id = UUID(step.response["request_id"])
        answer = plain(await self.run.answer_to(request_id, self.agent.lineage))
        agent = self.run.agent(self.agent.id)
        others = [other for other in asks_open(self.run.steps_of(agent.id).values()) if other.path != step.path]
        self._record(
            replace(step, status=StepStatus.FINISHED, response=answer),
            *(() if others else with_event(replace(agent, status=AgentStatus.RUNNING))),
            *(() if is_told() else (Announced(asking.id, questions.closed(request_id, step.name, answer)),)),
        )
        return answer
