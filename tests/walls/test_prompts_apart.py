"""Two people with the same documents, memories and questions: no search of one returns, and no prompt of one holds, a
word that is the other's.
"""

import ast
import json
import random
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.documents import OwnDocuments
from agents.tools.providers import Providers
from agents.workspace import OwnFiles
from conversations import actions
from memory.kinds import ProfileField
from memory.values import Mode
from tests.faces.conftest import in_threads
from tests.memory.giving import given
from tests.memory.remembering.knowing import fact, field, learned
from tests.memory.search.put import found_by, give_vectors, put
from tests.runtime.conftest import make_runner
from tests.runtime.driving import Runners, ended
from tests.scripted.fixtures import echo_server
from tests.scripted.script import Script
from tests.scripted.server import ScriptedServer

__all__ = ["echo_server", "in_threads", "make_runner"]

ALICES, CHARLIES = "zqalices", "zqcharlies"
WORDS: Final = ("whale", "ship", "storm", "harbour", "captain", "lantern", "rope", "north", "island", "compass")
CHUNKS: Final = 30
TOP: Final = 10
ROOT: Final = Path(__file__).parent.parent.parent


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.spec("B20")
@pytest.mark.threat("T03")
def test_two_hundred_searches_return_no_chunk_of_the_other_and_as_many_as_were_wanted(alice: Any, charlie: Any) -> None:
    chance = random.Random(7)
    texts = [" ".join(chance.choices(WORDS, k=8)) for _ in range(CHUNKS)]
    documents = {
        alice: put(alice, *(f"{text} {ALICES} {number}" for number, text in enumerate(texts))),
        charlie: put(charlie, *(f"{text} {CHARLIES} {number}" for number, text in enumerate(texts))),
    }
    give_vectors(*documents.values())
    foreign = 0

    for number in range(200):
        asker, others = ((alice, CHARLIES), (charlie, ALICES))[number % 2]
        # The word that the other's texts alone have is asked for as well: it is what would rank them first.
        query = " ".join([*chance.sample(WORDS, k=3), others])
        found = found_by(asker, query, mode=chance.choice(list(Mode)), top_k=TOP)
        foreign += sum(one.document_id != documents[asker].pk or others in one.text for one in found.passages)
        assert len(found.passages) == TOP, query

    assert foreign == 0


# Where a plan says what it keeps: of what others share in the join, if the planner finds that cheaper.
SORTS = {"Sort", "Incremental Sort", "Limit"}
NARROWED = ("Index Cond", "Filter", "Recheck Cond", "Hash Cond", "Merge Cond", "Join Filter")


@pytest.mark.django_db
@pytest.mark.threat("T03")
def test_whose_it_is_stands_in_the_query_of_the_nearest_itself(alice: Any, charlie: Any) -> None:
    """Not beside it: what is sorted by its distance and cut off has been narrowed down before."""
    give_vectors(put(alice, *WORDS), put(charlie, *WORDS))
    with CaptureQueriesContext(connection) as caught:
        found_by(charlie, "whale", mode=Mode.DENSE)
    near = [one["sql"] for one in caught.captured_queries if "ORDER BY distance" in one["sql"]]
    assert near

    for sql in near:
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN (FORMAT JSON) " + sql.replace("%", "%%"), [])
            told = cursor.fetchone()[0]
        plan = json.loads(told) if isinstance(told, str) else told
        scans = [
            lineage for lineage in lineages(plan[0]["Plan"]) if lineage[-1].get("Relation Name") == "memory_vector"
        ]
        assert scans
        for lineage in scans:
            assert is_narrowed(lineage), lineage


def is_narrowed(lineage: list[dict[str, Any]]) -> bool:
    """Whether whose it is decides in the scan, the last of these nodes, or in a join of it that is not sorted yet."""
    *above, scan = lineage
    if "owner_id" in said_by(scan):
        return True
    unsorted = takewhile(lambda node: node["Node Type"] not in SORTS, reversed(above))
    return any(f"{scan['Alias']}.owner_id" in said_by(node) for node in unsorted)


def said_by(node: dict[str, Any]) -> str:
    return " ".join(str(node.get(place, "")) for place in NARROWED)


def lineages(plan: dict[str, Any], *above: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Each node of the plan, with all above it, from the first."""
    own = [*above, plan]
    return [own, *(below for one in plan.get("Plans", []) for below in lineages(one, *own))]


@sync_to_async
def settle(user: Any, word: str) -> Any:
    """What somebody has told and given, with a word that is theirs alone; their conversation."""
    given(user, f"The lighthouse budget is 40 thousand euro, says {word}.", filename=f"{word}.md")
    learned(user, field(ProfileField.COMPANY_NAME, f"{word} works"), fact(f"Plans the lighthouse budget of {word}."))
    conversation = actions.create(user, title=f"{word} talk")
    return conversation.id


@sync_to_async
def say(user: Any, conversation_id: Any, text: str, mode: str) -> Any:
    return actions.say(user, conversation_id, actions.Question(text, mode=mode)).execution.id


@pytest.mark.spec("B4")
@pytest.mark.threat("T05")
@pytest.mark.usefixtures("in_threads")
async def test_no_prompt_of_charlies_holds_what_alice_said_gave_or_is_known_for(
    alice: Any, charlie: Any, echo_server: ScriptedServer, make_runner: Runners
) -> None:
    """By one runner, one after the other and in turns: what a process keeps in mind is whose it is."""
    talks = {alice: await settle(alice, ALICES), charlie: await settle(charlie, CHARLIES)}
    # For as many calls as there are; whatever else is asked is echoed.
    echo_server.script(
        Script(text="The budget is 40 thousand euro [1].", match="## Sources", times=0),
        Script(text=json.dumps({"query": "lighthouse budget"}), match="lighthouse", times=0),
    )
    await make_runner(echo_server.url, providers=Providers(documents=OwnDocuments(), workspace=OwnFiles()))
    told = {alice: "", charlie: ""}

    for mode in ("chat", "rag"):
        for user, conversation_id in talks.items():
            before = len(echo_server.calls)
            word = {alice: ALICES, charlie: CHARLIES}[user]
            run = await say(user, conversation_id, f"What is the lighthouse budget? {word} {mode}", mode)
            await ended(run, timeout_s=40)
            told[user] += "".join(json.dumps(call.body) for call in echo_server.calls[before:])

    assert (ALICES in told[alice], CHARLIES in told[charlie]) == (True, True)
    assert f"{ALICES}.md" in told[alice], "her document was read for her"
    assert f"{ALICES} works" in told[alice], "and what is known of her"
    assert ALICES not in told[charlie]
    assert CHARLIES not in told[alice]


# Where something is kept in Redis under a key, and what the key says of whose it is.
KEPT: Final = {
    "agents/admin_home.py": "what the installation spends, for its administrators",
    "agents/mail/actions.py": "tries of one person, by their id",
    "hyperagent/accounts/throttles.py": "requests of one person or address, by its name",
}


@pytest.mark.threat("T05")
def test_what_is_cached_says_in_its_key_whose_it_is() -> None:
    users = {
        str(path.relative_to(ROOT))
        for app in ("agents", "conversations", "hitl", "memory", "hyperagent")
        for path in (ROOT / app).rglob("*.py")
        if "django.core.cache" in path.read_text() and _imports_cache(path.read_text())
    }

    assert users == set(KEPT), "say here whose it is, and what the key says of it"


def _imports_cache(source: str) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and node.module == "django.core.cache" for node in ast.walk(ast.parse(source))
    )
