"""`manage.py doctor`: what is missing or wrong in this installation, and how to mend it. Changes nothing."""

import asyncio
import os
import shutil
import sys
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import psycopg
import redis
from django.core.files.storage import default_storage
from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.urls import reverse
from django.utils import timezone

from agents.apps.starters import STARTERS, offered
from agents.availability import shared_mailbox
from agents.browser import chromium
from agents.log import partitions
from agents.models import Runner
from agents.sandbox.chosen import provider_of, why_off
from agents.sandbox.host.client import sandbox_host
from agents.web.choice import service_of
from hyperagent.accounts.models import User
from hyperagent.accounts.sso import provider
from hyperagent.accounts.sso.problems import NotSignedOn, Why
from hyperagent.lib import queue
from hyperagent.lib.bucket_address import bucket_at
from hyperagent.lib.conf import LOCAL_HOSTS, Config, SandboxProvider
from hyperagent.lib.database import NO_VECTORS, ONLY_READ, has_vectors, is_read_only, shown_address
from hyperagent.lib.lanes import Lane
from hyperagent.lib.llm.config import LLMSettings
from hyperagent.lib.mail_servers import Security
from hyperagent.lib.outage import StorageAway
from hyperagent.lib.outside.egress import Egress
from hyperagent.management.findings import Finding, State
from hyperagent.management.model_checks import (
    check_chosen_models,
    check_images,
    check_model,
    check_prices,
    check_tunings,
)
from hyperagent.management.probing import check_mails, check_services
from hyperagent.settings import CONFIG
from memory.embedding.asking import embedder_lives
from memory.models import EmbeddingModel

LOW_DISK_BYTES = 1 << 30
# A runner says every few seconds that it lives.
SILENT_AFTER_S = 30
LATE_AFTER_S = 60
PLAIN_IMAGE = Config.model_fields["sandbox_image"].default


class Command(BaseCommand):
    help = "Says what is missing or wrong, and how to mend it. Exit status 1 if something must be mended."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        findings = list(diagnose(CONFIG))
        for finding in findings:
            self.stdout.write(str(finding))
        errors = sum(finding.state is State.ERROR for finding in findings)
        self.stdout.write("Everything that is needed is there." if not errors else f"{errors} to mend.")
        if errors:
            sys.exit(1)


def diagnose(config: Config) -> Iterable[Finding]:
    yield from check_key(config)
    yield from check_addresses(config)
    yield from check_egress(config)
    yield from check_disk(config)
    yield from check_bucket(config)
    yield from check_model()
    yield from check_chosen_models(LLMSettings.from_env(os.environ))
    yield from check_search(config)
    yield from check_images()
    yield from check_mails()
    yield from check_services(config, LLMSettings.from_env(os.environ))
    yield from check_mailbox(config)
    yield from check_sign_on(config)
    yield from check_sandbox(config)
    yield from check_browser(config)
    yield from check_apps(config)
    yield from check_redis(config)
    yield from check_database(config)


def check_key(config: Config) -> Iterable[Finding]:
    if config.secret_key.get_secret_value():
        yield Finding(State.FINE, "SECRET_KEY is set")
    else:
        yield Finding(
            State.ERROR,
            "SECRET_KEY is not set, and no `manage.py up` runs on this DATA_DIR",
            "start with `make run`, which makes one, or set it to at least 32 random characters",
        )
    if config.debug:
        yield Finding(State.WARNING, "DEBUG is on: errors show the program's insides", "set DEBUG=false")


def check_addresses(config: Config) -> Iterable[Finding]:
    host = urlsplit(config.site_url).hostname or ""
    if not any(fits(host, pattern) for pattern in config.hosts):
        yield Finding(
            State.ERROR,
            f"ALLOWED_HOSTS does not hold {host}, the host of SITE_URL: people would see an error",
            f"add {host} to ALLOWED_HOSTS",
        )
    elif "*" in config.hosts:
        yield Finding(State.WARNING, "ALLOWED_HOSTS=* answers any host name", "name the hosts that people open")
    else:
        yield Finding(State.FINE, f"answers as {', '.join(config.hosts)}")
    if not config.is_https and host not in LOCAL_HOSTS:
        yield Finding(
            State.WARNING,
            f"SITE_URL={config.site_url} has no https: passwords travel in the clear",
            "put a proxy with TLS in front, and set SITE_URL=https://… and TRUSTED_PROXIES=1",
        )
    if config.is_https and not config.trusted_proxies:
        yield Finding(
            State.ERROR,
            f"SITE_URL={config.site_url} is https, and TRUSTED_PROXIES is 0: all are sent back to it, again and again",
            "set TRUSTED_PROXIES to the number of proxies in front, which say by X-Forwarded-Proto that it was https",
        )


def fits(host: str, pattern: str) -> bool:
    """Django's rule for ALLOWED_HOSTS."""
    return pattern in ("*", host) or (pattern.startswith(".") and f".{host}".endswith(pattern))


def check_egress(config: Config) -> Iterable[Finding]:
    rules = Egress(config.egress_allow, config.egress_trusted)
    reach = f"only {', '.join(rules.allowed)}" if rules.allowed else "everything that is public"
    yield Finding(State.FINE, f"agents may reach {reach}")
    beyond = [host for host in rules.trusted if not rules.lets(host.replace("*", "any", 1))]
    if beyond:
        yield Finding(
            State.WARNING,
            f"EGRESS_TRUSTED names {', '.join(beyond)}, which EGRESS_ALLOW lets nobody reach",
            "add it to EGRESS_ALLOW, or take it out of EGRESS_TRUSTED",
        )


def check_disk(config: Config) -> Iterable[Finding]:
    folder = config.data_path
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        yield Finding(State.ERROR, f"DATA_DIR={folder} cannot be written", "choose another folder, or change its owner")
        return
    free = shutil.disk_usage(existing).free
    state, mend = (State.FINE, "") if free > LOW_DISK_BYTES else (State.WARNING, "make room, or move DATA_DIR")
    yield Finding(state, f"{free / (1 << 30):.1f} GB free under {folder}", mend)


def check_bucket(config: Config) -> Iterable[Finding]:
    if not config.storage_url.get_secret_value():
        return
    where = bucket_at(config.storage_url.get_secret_value())
    mend = "correct STORAGE_URL, make the bucket, or let its key read, write, list and delete in it"
    try:
        default_storage.look()  # type: ignore[attr-defined]
    except FileNotFoundError:
        yield Finding(State.ERROR, f"there is no bucket {where}", mend)
    except StorageAway as error:
        yield Finding(State.ERROR, f"the bucket {where} cannot be used: {error.strerror}", mend)
    else:
        yield Finding(State.FINE, f"files lie in the bucket {where}")


def check_search(config: Config) -> Iterable[Finding]:
    service = service_of(config)
    if service is None:
        way = "set TAVILY_API_KEY (a key from tavily.com), SEARXNG_URL, or SEARCH_PROVIDER=ddgs, which needs no key"
        yield Finding(State.WARNING, "no web search is configured: pages can be read, and not found", way)
    else:
        yield Finding(State.FINE, f"searches the web by {type(service).__name__}")


def check_mailbox(config: Config) -> Iterable[Finding]:
    mailbox = shared_mailbox(config)
    if mailbox is None:
        which = "mailboxes, Gmail's too," if config.gmail_client_id else "mailboxes, by Gmail's password only,"
        yield Finding(State.FINE, f"no mailbox for everybody is configured; people connect {which} at /mail/")
        return
    for server in mailbox.servers:
        if server.security is Security.PLAIN and server.host not in (*LOCAL_HOSTS, "::1"):
            yield Finding(
                State.WARNING,
                f"the password for {server.shown} travels in the clear",
                "use smtp+tls:// or smtp+ssl:// in SMTP_URL, and imaps:// or imap+tls:// in IMAP_URL",
            )
    troubles = mailbox.troubles()
    for trouble in troubles:
        yield Finding(State.ERROR, trouble, "start it, or correct SMTP_URL and IMAP_URL")
    if not troubles:
        whose = "whoever has connected none of their own works in it"
        yield Finding(State.FINE, f"the mailbox of {mailbox.address} answers; {whose}")


def check_sign_on(config: Config) -> Iterable[Finding]:
    """Asks the provider for its discovery, as the first sign-in would."""
    sign_on = config.sign_on
    if sign_on is None:
        yield Finding(State.FINE, "no single sign-on is configured; people sign in with passwords and passkeys")
        return
    if sign_on.issuer.startswith("http://"):
        yield Finding(State.WARNING, "OIDC_ISSUER is http://: sign-ins travel in the clear", "use https://")
    try:
        found = provider.discover(sign_on)
    except NotSignedOn as problem:
        way = "start it, or correct OIDC_ISSUER" if problem.why is Why.AWAY else "set OIDC_ISSUER to the name it gives"
        yield Finding(State.ERROR, f"single sign-on by {sign_on.name} does not work: {problem.detail}", way)
        return
    where = f"{config.site_url}{reverse('accounts:sso_callback')}"
    yield Finding(State.FINE, f"people sign in by {found.issuer}; the redirect address to register there is {where}")


def check_sandbox(config: Config) -> Iterable[Finding]:
    """Without one everything else works, so nothing here must be mended. A box is opened to try it."""
    if config.sandbox_provider is SandboxProvider.NONE:
        yield Finding(State.FINE, "running code is switched off (SANDBOX_PROVIDER=none)")
        return
    if why := asyncio.run(provider_of(config).why_not()):
        yield Finding(State.WARNING, f"agents cannot run code: {why}", "or set SANDBOX_PROVIDER to another")
    elif not asyncio.run(sandbox_host().lives()):
        yield Finding(State.WARNING, "no process holds sandboxes on this machine", "start `manage.py worker`")
    else:
        yield Finding(State.FINE, f"agents run code in sandboxes ({config.sandbox_provider.value})")


def check_browser(config: Config) -> Iterable[Finding]:
    if why_off(config):
        return
    if why := chromium.why_off(config):
        yield Finding(State.WARNING, f"agents have no browser: {why}")
    else:
        yield Finding(State.FINE, f"agents browse the web by {chromium.program()}")


def check_apps(config: Config) -> Iterable[Finding]:
    """What apps can be built and shown, which hangs on where they run and on packages that somebody installs."""
    if why_off(config):
        return
    if config.sandbox_provider is SandboxProvider.E2B:
        yield Finding(
            State.WARNING,
            "sandboxes of E2B show no apps, and scripts in them call no tools: nothing leads into them",
            "set SANDBOX_PROVIDER to local or docker where that is wanted",
        )
        return
    if config.sandbox_provider is SandboxProvider.DOCKER and config.sandbox_image == PLAIN_IMAGE:
        yield Finding(
            State.WARNING,
            f"sandboxes of {PLAIN_IMAGE} have Python alone: neither Node.js, for JavaScript, TypeScript and its apps, "
            "nor the libraries for data, charts and apps that agents are told of",
            "docker build -f deploy/sandbox/Dockerfile -t hyperagent-sandbox .   "
            "and set SANDBOX_IMAGE=hyperagent-sandbox",
        )
    lacking = [starter for starter in STARTERS.values() if starter not in offered()]
    if lacking:
        packages = " ".join(dict.fromkeys(name for starter in lacking for name in starter.install))
        names = ", ".join(starter.name for starter in lacking)
        yield Finding(State.WARNING, f"no apps of {names} can be built", f"manage.py app_install {packages}")
    else:
        yield Finding(State.FINE, f"apps can be built of {', '.join(starter.name for starter in offered())}")


def check_redis(config: Config) -> Iterable[Finding]:
    url = config.redis_url.get_secret_value()
    if not url:
        yield Finding(State.ERROR, "REDIS_URL is not set", "start with `make run`, which brings its own, or set it")
        return
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=3, socket_timeout=3) as client:
            client.ping()
    except redis.RedisError as error:
        yield Finding(State.ERROR, f"Redis does not answer: {error}", "start it, or correct REDIS_URL")
    else:
        yield Finding(State.FINE, "Redis answers")


def check_database(config: Config) -> Iterable[Finding]:
    if not config.database_url.get_secret_value():
        yield Finding(State.ERROR, "DATABASE_URL is not set", "start with `make run`, which brings its own, or set it")
        return
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        first_line = str(error).strip().splitlines()[0]
        yield Finding(
            State.ERROR,
            f"the database at {shown_address()} does not answer: {first_line}",
            "start it, or correct DATABASE_URL",
        )
        return
    if is_read_only():
        way = "make room on its disk, or lead DATABASE_URL to the primary"
        yield Finding(State.ERROR, f"the database at {shown_address()} {ONLY_READ}", way)
    else:
        yield Finding(State.FINE, f"the database at {shown_address()} answers")
    yield from check_pooler(config)
    if not has_vectors(make=False):
        yield Finding(State.ERROR, "pgvector is missing", NO_VECTORS.format(address=shown_address()))
    unapplied = unapplied_migrations()
    if unapplied:
        yield Finding(
            State.ERROR, f"{len(unapplied)} migrations are not applied, first {unapplied[0]}", "run `manage.py migrate`"
        )
        return
    for check in (check_people, check_runners, check_queue, check_months, check_embedder, check_prices, check_tunings):
        yield from check()


def check_pooler(config: Config) -> Iterable[Finding]:
    """What the web processes connect to, where that is another address than everybody else's."""
    if not config.database_direct_url.get_secret_value():
        return
    try:
        with psycopg.connect(config.database_url.get_secret_value(), connect_timeout=3, prepare_threshold=None) as one:
            one.execute("SELECT 1")
    except psycopg.Error as error:
        first_line = str(error).strip().splitlines()[0]
        yield Finding(State.ERROR, f"the web processes' database does not answer: {first_line}", "correct DATABASE_URL")
    else:
        yield Finding(State.FINE, "the web processes' way to it (DATABASE_URL) answers, others go past it")


def unapplied_migrations() -> list[str]:
    executor = MigrationExecutor(connection)
    return [str(migration) for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes())]


def check_people() -> Iterable[Finding]:
    if User.objects.filter(is_superuser=True, is_active=True).exists():
        yield Finding(State.FINE, "there is an administrator")
    else:
        yield Finding(State.ERROR, "there is no active administrator", "manage.py createsuperuser")


def check_runners() -> Iterable[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM {Runner._meta.db_table} WHERE seen_at > now() - %s * interval '1 second'",
            [SILENT_AFTER_S],
        )
        living = cursor.fetchone()[0]
    if living:
        yield Finding(State.FINE, f"runners that live: {living}")
    else:
        yield Finding(
            State.ERROR, f"no runner gave a sign for {SILENT_AFTER_S} s: questions wait", "start `manage.py worker`"
        )


def check_embedder() -> Iterable[Finding]:
    """Without one everything is found by its words still, so nothing here must be mended."""
    current = EmbeddingModel.objects.order_by("-chosen_at").first()
    wanted = LLMSettings.from_env(os.environ).embedding_model
    if not embedder_lives():
        yield Finding(State.WARNING, "no embedder gives a sign: searches go by words alone", "start `manage.py worker`")
    elif current is not None and current.problem:
        yield Finding(State.WARNING, current.problem, "correct EMBEDDING_MODEL, or see to its provider")
    elif current is not None and current.name != wanted:
        yield Finding(
            State.WARNING,
            f"EMBEDDING_MODEL={wanted}, and vectors are made by {current.name}",
            "give it the same value everywhere, and start the workers again",
        )
    else:
        yield Finding(State.FINE, "an embedder lives")


def check_months() -> Iterable[Finding]:
    """Runs of a month that was not made are stored all the same, and moved when it is."""
    missing = partitions.missing(timezone.now(), ahead=1)
    if missing:
        yield Finding(
            State.WARNING,
            f"the event log has no part for {', '.join(map(str, missing))}",
            "run `manage.py prepare`; while the workers' queue runs, it is made once a day",
        )
    else:
        yield Finding(State.FINE, "the event log has its parts for this month and the next")


def check_queue() -> Iterable[Finding]:
    age_s = queue.oldest_waiting_s(Lane.SOON)
    if age_s > LATE_AFTER_S:
        yield Finding(State.ERROR, f"a background job waits since {age_s:.0f} s", "start `manage.py worker`")
    else:
        yield Finding(State.FINE, "background jobs are taken in time")
