"""Every operation that the API's description names, called with what the description allows and with what it does not,
by an ordinary person, by an administrator and by a program with a narrow token: nothing fails on our side, and every
answer is one that the description promises.

Each operation is called three times for each of them, besides the smallest call; `FUZZ_EXAMPLES=200` calls it as often.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import requests
import schemathesis
from asgiref.sync import sync_to_async
from django.core.cache import cache
from django.db import connections
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import APIOperation, GenerationMode
from schemathesis import Case as AnyCase
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.specs.openapi import checks

from tests.faces.conftest import _web, token_of, web
from tests.runtime.conftest import make_runner
from tests.runtime.driving import Runners
from tests.scripted.fixtures import echo_server
from tests.scripted.server import ScriptedServer
from tests.walls.fuzzed import furnish

__all__ = ["_web", "echo_server", "make_runner", "web"]

pytestmark = pytest.mark.timeout(7200)

Operation = APIOperation[Any, Any, Any, Any]
Case = AnyCase[Any]
SEED = 20261122
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "3"))
TIMEOUT_S = 60
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
]
NEVER_SHOWN = ("Traceback", "psycopg", "site-packages", 'File "/')
QUIET = settings(
    max_examples=EXAMPLES + 1,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@dataclass
class Caller:
    name: str
    user: Any
    headers: dict[str, str]
    own: dict[str, str]
    calls: int = 0


@dataclass
class Fuzz:
    url: str
    callers: list[Caller]
    session: requests.Session = field(default_factory=requests.Session)
    faults: dict[str, str] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)

    def operations(self) -> Iterator[Operation]:
        told = self.session.get(
            f"{self.url}/api/schema/?format=json", headers=self.callers[0].headers, timeout=TIMEOUT_S
        )
        described = schemathesis.openapi.from_dict(told.json())
        for found in described.get_all_operations():
            assert isinstance(found, Ok), found
            yield found.ok()

    def try_all(self) -> None:
        """In a thread of its own."""
        try:
            for operation in self.operations():
                for caller in self.callers:
                    self.try_one(operation, caller)
        finally:
            self.session.close()
            connections.close_all()

    def try_one(self, operation: Operation, caller: Caller) -> None:
        tried = 0

        @seed(SEED + self.callers.index(caller))
        @QUIET
        @given(case=_cases(operation), near=st.integers(0, 3))
        def called(case: Case, near: int) -> None:
            nonlocal tried
            tried += 1
            if tried == 1 and EXAMPLES == 1:
                return  # always the smallest, for everybody the same
            if near:
                _aim(case, caller.own)
            self._call(case, caller)

        called()

    def _call(self, case: Case, caller: Caller) -> None:
        if caller.calls % 500 == 0:
            cache.delete(f"throttle_user_{caller.user.pk}")
        caller.calls += 1
        answer = case.call(base_url=self.url, session=self.session, headers=caller.headers, timeout=TIMEOUT_S)
        self.statuses[answer.status_code] += 1
        label = f"{case.method} {case.operation.path}"
        try:
            case.validate_response(answer, checks=CHECKS, headers=caller.headers)
        except FailureGroup as group:
            for one in group.exceptions:
                self._note(label, caller, one, case, answer)
        except Failure as one:
            self._note(label, caller, one, case, answer)
        if fault := _shape_fault(answer):
            self.faults.setdefault(f"{label}: {fault}", f"{caller.name}: {case.as_curl_command()}: {answer.text[:300]}")
        if (case.method == "DELETE" or "file-moves" in label) and answer.status_code < 300:
            caller.own = furnish(caller.user)

    def _note(self, label: str, caller: Caller, one: BaseException, case: Case, answer: Response) -> None:
        said = str(one)[:600]
        key = f"{label}: {type(one).__name__} {answer.status_code}"
        self.faults.setdefault(key, f"{caller.name}: {case.as_curl_command()[:1500]}\n{said}\n{answer.text[:300]}")


def _cases(operation: Operation) -> st.SearchStrategy[Case]:
    return st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )


def _aim(case: Case, own: dict[str, str]) -> None:
    """At what there is: addresses and bodies name the caller's own."""
    for names in (case.path_parameters, case.query, case.body):
        if isinstance(names, dict):
            for name, value in names.items():
                if name in own and (isinstance(value, str) or names is case.path_parameters):
                    names[name] = own[name]


def _shape_fault(answer: Response) -> str:
    """Of an error: it is told in the one shape, and tells nothing of the inside."""
    for word in NEVER_SHOWN:
        if word in (answer.text or ""):
            return f"shows {word!r}"
    if answer.status_code < 400:
        return ""
    try:
        error = answer.json()["error"]
        # Below /v1/ errors are OpenAI's, which may have no code and always have a type.
        is_ours = bool((error["code"] or error.get("type")) and error["message"])
    except (ValueError, KeyError, TypeError):
        is_ours = False
    return "" if is_ours else f"{answer.status_code} in another shape"


@sync_to_async
def _people(alice: Any, bob: Any, charlie: Any) -> list[Caller]:
    bob.is_superuser = True
    bob.save()
    everything = ["run", "read", "approve", "documents"]
    people = {"ordinary": (alice, everything), "administrator": (bob, [*everything, "admin"])}
    return [
        Caller(name, user, {"Authorization": f"Bearer {token_of(user, scopes=scopes)}"}, furnish(user))
        for name, (user, scopes) in {**people, "narrow": (charlie, ["read"])}.items()
    ]


@pytest.mark.slow
@pytest.mark.threat("T34", "T28")
async def test_the_api_fails_at_nothing_and_answers_as_it_is_described(
    web: Any, alice: Any, bob: Any, charlie: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    fuzz = Fuzz(web.url, await _people(alice, bob, charlie))
    await make_runner(echo_server.url)

    await asyncio.to_thread(fuzz.try_all)

    print(sorted(fuzz.statuses.items()))
    assert not fuzz.faults, "\n\n".join(f"{where}\n{how}" for where, how in fuzz.faults.items())
    assert fuzz.statuses[200] > fuzz.statuses[400] / 10, "it reaches something"
    assert "Traceback" not in web.log.read_text(errors="replace")
