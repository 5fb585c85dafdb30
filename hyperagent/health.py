"""How the process and its surroundings are, for supervisors and Prometheus: `/healthz`, `/readyz`, `/metrics`."""

import asyncio
import hmac
import ipaddress
import os
from collections.abc import Awaitable, Callable, Coroutine
from functools import cache, wraps
from typing import Any, cast

import psycopg
import redis.asyncio
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest

from hyperagent.accounts.scopes import Scope
from hyperagent.accounts.tokens import scopes_of, user_for_token
from hyperagent.errors import only_looked_at
from hyperagent.lib import outage, queue
from hyperagent.lib.database import IS_READ_ONLY, ONLY_READ
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.refusals import error_object
from hyperagent.lib.threads import in_thread
from hyperagent.metrics import RUNNER_SILENT_AFTER_S

WITHIN_S = 2.0
UNANSWERED_RUNS = 3
UNANSWERED_WITHIN_S = 300
View = Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]


def _only_looked_at(view: View) -> View:
    """Who watches is told so in the shape of all errors, not by a page about forms."""

    @csrf_exempt
    @wraps(view)
    async def looked_at(request: HttpRequest) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return await view(request)
        return only_looked_at(request)

    return looked_at


@_only_looked_at
async def alive(request: HttpRequest) -> HttpResponse:
    """The process answers. Looks at nothing else: a supervisor that restarts us for a lost database would help
    nobody.
    """
    return JsonResponse({"status": "ok"})


@_only_looked_at
async def ready(request: HttpRequest) -> HttpResponse:
    """503 names what is missing and what to do about it. Answers within seconds whatever is away."""
    checks: dict[str, Callable[[], Awaitable[str | None]]] = {"database": _database, "redis": _redis, "model": _model}
    found = dict(zip(checks, await asyncio.gather(*(_within(check) for check in checks.values())), strict=True))
    if found["database"] is None:
        found |= await _in_database()
    missing = {name: problem for name, problem in found.items() if problem}
    shown = {"status": "ready" if not missing else "not ready", "missing": missing}
    return JsonResponse(shown, status=503 if missing else 200, headers={"Cache-Control": "no-store"})


async def _within(check: Callable[[], Awaitable[str | None]]) -> str | None:
    try:
        async with asyncio.timeout(WITHIN_S):
            return await check()
    except TimeoutError:
        return f"gave no answer within {WITHIN_S:g} s"


def _conninfo() -> dict[str, Any]:
    """Of a connection of its own: the pool would make us wait for what is not there. All that libpq is told by the
    address, certificates say, and nothing that is Django's."""
    options = connections[DEFAULT_DB_ALIAS].get_connection_params()
    return {name: value for name, value in options.items() if name in _libpqs() and name != "connect_timeout"}


@cache
def _libpqs() -> frozenset[str]:
    return frozenset(option.keyword.decode() for option in psycopg.pq.Conninfo.get_defaults())


async def _database() -> str | None:
    try:
        async with await psycopg.AsyncConnection.connect(**_conninfo(), connect_timeout=2) as database:
            row = await (await database.execute(IS_READ_ONLY)).fetchone()
    except (psycopg.Error, OSError):
        return "Postgres does not answer. Start it, or check DATABASE_URL."
    return None if row == ("off",) else f"Postgres {ONLY_READ}. Make room, or lead DATABASE_URL to the primary."


async def _in_database() -> dict[str, str | None]:
    try:
        async with asyncio.timeout(WITHIN_S):
            return await in_thread(_migrations_and_workers)()
    except Exception as error:
        if not isinstance(error, TimeoutError) and not outage.is_outage(error):
            raise
        return {"database": "Postgres answers, but not to this process yet."}


def _migrations_and_workers() -> dict[str, str | None]:
    loader = MigrationLoader(connection)
    missing = len(set(loader.disk_migrations) - set(loader.applied_migrations))
    unapplied = f"{missing} migrations are not applied. Run `manage.py migrate`." if missing else None
    if missing:
        return {"migrations": unapplied}
    found = {"migrations": unapplied, "workers": _workers()}
    return found | ({"model": away} if (away := _model_is_away()) else {})


def _workers() -> str | None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM agents_runner WHERE seen_at > clock_timestamp() - make_interval(secs => %s) LIMIT 1",
            [RUNNER_SILENT_AFTER_S],
        )
        alive = cursor.fetchone() is not None
    if not alive:
        return f"No runner gave a sign for {RUNNER_SILENT_AFTER_S} s. Start `manage.py worker`."
    if queue.is_deserted(for_s=RUNNER_SILENT_AFTER_S):
        return f"Nobody takes background jobs, for {RUNNER_SILENT_AFTER_S} s at least. Start `manage.py worker`."
    return None


# A call that was answered stands in the ledger; only what was asked since then counts, so there is little to look at.
# Who chose a model chose its outage, too.
_UNANSWERED = """
    SELECT count(*) FROM (
        SELECT FROM agents_execution
         WHERE status = 'failed' AND error_code = 'model_unavailable'
           AND input #>> '{options,provider}' IS NULL AND input #>> '{options,model}' IS NULL
           AND created_at > greatest(
             clock_timestamp() - make_interval(secs => %(within_s)s),
             (SELECT max(at) FROM agents_modelcall
               WHERE at > clock_timestamp() - make_interval(secs => %(within_s)s) AND step_id > 0))
         LIMIT %(enough)s
    ) unanswered
"""


def _model_is_away() -> str | None:
    """As the newest runs found it, whoever drove them: no model is asked for this. Where nobody asks any more it counts
    as there again, so that somebody finds out."""
    with connection.cursor() as cursor:
        cursor.execute(_UNANSWERED, {"within_s": UNANSWERED_WITHIN_S, "enough": UNANSWERED_RUNS})
        (unanswered,) = cursor.fetchone()
    if unanswered < UNANSWERED_RUNS:
        return None
    return (
        f"The last {UNANSWERED_RUNS} runs reached no model. Look whether its server runs; `manage.py doctor` says more."
    )


async def _redis() -> str | None:
    try:
        client = redis.asyncio.Redis.from_url(_redis_address(), socket_connect_timeout=1, socket_timeout=1)
        async with client:
            await client.ping()
    except (redis.RedisError, OSError):
        return "Redis does not answer. Start it, or check REDIS_URL."
    return None


def _redis_address() -> str:
    return str(cast(dict[str, Any], settings.CHANNEL_LAYERS["default"]["CONFIG"])["hosts"][0]["address"])


async def _model() -> str | None:
    if LLMSettings.from_env(os.environ).default is None:
        return (
            "No model is configured. Set a provider's key, OPENAI_COMPATIBLE_PROVIDERS, or start with `manage.py up`."
        )
    return None


# ── metrics ──


@_only_looked_at
async def metrics(request: HttpRequest) -> HttpResponse:
    if not await in_thread(_may_measure)(request):
        message = "Metrics are given to this machine, to METRICS_TOKEN, and to tokens with the scope 'admin'."
        return JsonResponse({"error": error_object("not_allowed", message)}, status=403)
    text = await in_thread(generate_latest)(REGISTRY)
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


def _may_measure(request: HttpRequest) -> bool:
    scheme, _, raw = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        expected = settings.CONFIG.metrics_token.get_secret_value()
        if expected and hmac.compare_digest(raw.strip().encode(), expected.encode()):
            return True
        found = user_for_token(raw.strip())
        return found is not None and Scope.ADMIN in scopes_of(*found)
    # A proxy on this machine makes everybody look local, and says so in this header.
    return _is_loopback(request.META.get("REMOTE_ADDR")) and "HTTP_X_FORWARDED_FOR" not in request.META


def _is_loopback(address: str | None) -> bool:
    try:
        # Over a unix socket there is no address: that is this machine, too.
        return not address or ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
