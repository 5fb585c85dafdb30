"""`pytest -n 0 tests/page/record_logs.py`: event logs of real runs, as `same_state.mjs` plays them, into logs.json.

Run by hand, when the events have changed: a whole site asks its scripted model.
"""

import json
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx

from tests.page.waiting import policy
from tests.pipeline.graphs import DIAMOND, SATISFIED, plan_text
from tests.pipeline.graphs import QUESTION as PLANNED
from tests.scripted import Script, ScriptedCall
from tests.site import Site

LOGS = Path(__file__).parent / "logs.json"
QUESTION = "Why is the sky blue?"
ANSWER = "Short waves are scattered **more**.\n\n| Wave | nm |\n|---|---|\n| Blue | 450 |\n\n😀 So the sky is blue."


def test_record(live_site: Site) -> None:
    site = live_site
    logs = [
        _log(site, site.ask("say 30 tokens at 200/s")),
        _scripted(site, Script(text=ANSWER, tokens_per_s=60)),
        _scripted(site, Script(text=ANSWER, tokens_per_s=60, thinking="Why would it be blue? Think of the waves.")),
        _scripted(site, Script(status=400, error_message="this question is not for me")),
        _stopped(site),
    ]
    site.token = _token(site)
    logs += [
        _planned(site, Script(text="Found beta.", tokens_per_s=60)),
        _planned(site, Script(status=400, error_message="It broke off.")),
        _approved(site, "approved"),
        _approved(site, "denied"),
    ]
    LOGS.write_text(json.dumps(logs, ensure_ascii=False, separators=(",", ":")) + "\n")


def _scripted(site: Site, script: Script) -> dict[str, Any]:
    site.model.reset()
    site.model.script(script.model_copy(update={"match": QUESTION, "times": 0}))
    return _log(site, site.ask(QUESTION))


def _stopped(site: Site) -> dict[str, Any]:
    site.model.reset()
    run = site.ask("say 500 tokens at 20/s")
    site.until_tokens(run)
    site.post(f"executions/{run}/cancel", {})
    return _log(site, run)


def _token(site: Site) -> str:
    """One that may answer what a run asks, too."""
    asked = {"email": site.email, "password": site.password, "scopes": ["run", "read", "approve"]}
    return str(site.post("auth/token", asked).json()["token"])


def _planned(site: Site, beta: Script) -> dict[str, Any]:
    """Four tasks, of which one goes as `beta` says."""
    others = [name for name in DIAMOND if name != "beta"]
    site.model.reset()
    site.model.script(
        Script(match="## Results\n### ", text=ANSWER, times=0, tokens_per_s=60),
        Script(match="## Results\n- id", text=SATISFIED, times=0),
        beta.model_copy(update={"match": "## Task\nWork on beta now.", "times": 0}),
        *(Script(match=f"## Task\nWork on {name} now.", text=f"Found {name}.", times=0) for name in others),
        Script(match=PLANNED, text=plan_text(DIAMOND), times=0),
    )
    return _log(site, site.ask(PLANNED))


def _approved(site: Site, decision: str) -> dict[str, Any]:
    """A call that waits for a person, and what becomes of it; with a subagent, if that is approved."""
    site.model.reset()
    call = ScriptedCall(name="fork", arguments=json.dumps({"prompt": "Find a sailmaker", "agent": "chat"}))
    site.model.script(
        Script(match="Find a sailmaker", text="There is one in Kiel."),
        Script(match=QUESTION, tool_calls=[call]),
        Script(match=QUESTION, text=ANSWER, times=0, tokens_per_s=60),
    )
    with policy(site, "fork"):
        run = site.ask(QUESTION)
        while not (waiting := _get(site, f"hitl/requests?execution={run}")["results"]):
            time.sleep(0.1)
        answer = {"request_id": waiting[0]["request_id"], "decision": decision, "instructions": "Not now."}
        done = site.post("hitl/respond", answer)
        assert done.status_code == 200, done.text
        return _log(site, run)


def _log(site: Site, run: UUID) -> dict[str, Any]:
    """The events, and what the API says of the answer when the run is over."""
    [ended] = site.until_ended(run)
    found = _get(site, f"conversations/{ended['conversation_id']}/messages")
    return {"events": site.events(run), "reply": found["results"][-1]}


def _get(site: Site, path: str) -> Any:
    return httpx.get(site.url(path), headers=site.headers, timeout=30).json()
