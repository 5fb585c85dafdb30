"""`python -m tests.page.record_logs`: event logs of real runs, as `same_state.mjs` plays them: tests/page/logs.json.

Run by hand, when the events have changed: a whole site asks its scripted model.
"""

import json
import os
from pathlib import Path
from typing import Any
from uuid import UUID

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hyperagent.settings")

import httpx

from tests.scripted import Script
from tests.site import Site

LOGS = Path(__file__).parent / "logs.json"
QUESTION = "Why is the sky blue?"
ANSWER = "Short waves are scattered **more**.\n\n| Wave | nm |\n|---|---|\n| Blue | 450 |\n\n😀 So the sky is blue."


def main() -> None:
    with Site() as site:
        logs = [
            _log(site, site.ask("say 30 tokens at 200/s")),
            _scripted(site, Script(text=ANSWER, tokens_per_s=60)),
            _scripted(site, Script(text=ANSWER, tokens_per_s=60, thinking="Why would it be blue? Think of the waves.")),
            _scripted(site, Script(status=400, error_message="this question is not for me")),
            _stopped(site),
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


def _log(site: Site, run: UUID) -> dict[str, Any]:
    """The events, and what the API says of the answer when the run is over."""
    [ended] = site.until_ended(run)
    found = httpx.get(site.url(f"conversations/{ended['conversation_id']}/messages"), headers=site.headers, timeout=30)
    return {"events": site.events(run), "reply": found.json()["results"][-1]}


if __name__ == "__main__":
    main()
