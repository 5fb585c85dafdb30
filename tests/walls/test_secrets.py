"""T23: a canary in every setting that is secret and in everything that is stored sealed; then work and failures, and a
look into whatever a person, a model, a log or another program may read.
"""

import json
import sys
import uuid
from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
import redis
from django.core import signing

from agents.mail import credentials
from agents.mail.models import MailAccount
from agents.mcp import sealing
from conversations.sharing.tokens import token_of
from hyperagent.lib.conf import BASE_DIR, Config, is_secret, secrets_in
from hyperagent.lib.log import HIDDEN, redact
from hyperagent.lib.secrets import Purpose, Unreadable, seal, unseal
from tests import template
from tests.scripted.script import Script
from tests.site import EMAIL, Site

pytestmark = pytest.mark.threat("T23")


def canary(name: str) -> str:
    return f"canary{name.lower().replace('_', '')}9f3a8b7c6d5e4f"


PROVIDER_KEY: Final = canary("provider_key")
SETTINGS: Final = {
    "SECRET_KEY": canary("SECRET_KEY") * 2,
    "SECRET_KEY_FALLBACKS": canary("SECRET_KEY_FALLBACKS") * 2,
    "HYPERAGENT_ADMIN_PASSWORD": canary("HYPERAGENT_ADMIN_PASSWORD"),
    "TAVILY_API_KEY": canary("TAVILY_API_KEY"),
    "E2B_API_KEY": canary("E2B_API_KEY"),
    "GMAIL_CLIENT_SECRET": canary("GMAIL_CLIENT_SECRET"),
    "METRICS_TOKEN": canary("METRICS_TOKEN"),
    "OIDC_CLIENT_SECRET": canary("OIDC_CLIENT_SECRET"),
    "AUDIT_LOG_STREAM_SECRET": f"whsec_{b64encode(canary('AUDIT_LOG_STREAM_SECRET').encode()).decode()}",
    "STORAGE_URL": f"s3://a-key:{canary('STORAGE_URL')}@bucket?endpoint=http://127.0.0.1:9",
    "SENTRY_DSN": f"http://a-key:{canary('SENTRY_DSN')}@127.0.0.1:9/1",
    "EMAIL_URL": f"smtp://house:{canary('EMAIL_URL')}@127.0.0.1:9",
    "SMTP_URL": f"smtp://box:{canary('SMTP_URL')}@127.0.0.1:9?from=box@example.org",
    "IMAP_URL": f"imap://box:{canary('IMAP_URL')}@127.0.0.1:9",
}
MORE: Final = {
    "TAVILY_BASE_URL": "http://127.0.0.1:9",
    "GMAIL_CLIENT_ID": "an-id",
    "OIDC_ISSUER": "http://127.0.0.1:9/",
    "OIDC_CLIENT_ID": "an-id",
    "DEFAULT_PROVIDER": "scripted",
    "SANDBOX_PROVIDER": "none",
    "HYPERAGENT_ADMIN_EMAIL": "root@example.org",
    "REGISTRATION_OPEN": "true",
}
PASSWORD_OF_ALICE: Final = canary("password_of_a_person")
STORED: Final = [canary("mail_password"), canary("mcp_header"), canary("webhook")]
CANARIES: Final = [
    PROVIDER_KEY,
    PASSWORD_OF_ALICE,
    *STORED,
    *((urlsplit(value).password or value) for value in SETTINGS.values()),
]
FILL: Final = """
from agents.mail import credentials
from agents.mail.models import MailAccount
from agents.mcp import sealing
from conversations.sharing.tokens import token_of
from agents.mcp.models import McpServer
from hyperagent.accounts.models import User
from hyperagent.notices.models import Endpoint
from hyperagent.lib.secrets import Purpose, seal
from django.conf import settings
mail, mcp, hook = {stored!r}
User.objects.create_superuser("root@example.org", settings.CONFIG.admin_password.get_secret_value())
user = User.objects.get(email="{email}")
MailAccount.objects.create(user=user, kind="imap", address="a@example.org",
                           sealed=credentials.sealed(credentials.Password(password=mail)))
McpServer.objects.create(owner=user, name="tools", kind="http", url="http://127.0.0.1:9/mcp",
                         sealed=sealing.sealed({{"headers": {{"authorization": mcp}}}}))
Endpoint.objects.create(user=user, url="http://127.0.0.1:9/", events=["run.completed"],
                        secret_sealed=seal(hook, Purpose.WEBHOOK))
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    class Canaries(Site):
        def restart(self, *names: str) -> None:
            """One runner is enough, and everything is started with the canaries."""
            provider = json.loads(self.env["OPENAI_COMPATIBLE_PROVIDERS"])[0] | {"api_key": PROVIDER_KEY}
            self.env |= {**SETTINGS, **MORE, "OPENAI_COMPATIBLE_PROVIDERS": json.dumps([provider])}
            super().restart(*(name for name in names if name != "two"))

    with Canaries() as started:
        started.manage("shell", "-v0", "-c", FILL.format(stored=STORED, email=EMAIL))
        yield started


class Read:
    """Everything that was told, by where."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.keys_sent = ""

    def note(self, where: str, text: str) -> None:
        self.texts[where] = self.texts.get(where, "") + text

    def found(self) -> list[tuple[str, str]]:
        return [(where, one) for where, text in self.texts.items() for one in CANARIES if one in text]


def test_every_secret_setting_has_a_canary() -> None:
    names = {str(field.alias) for field in Config.model_fields.values() if field.alias and is_secret(field.alias)}

    # Of the tests' own servers, which have no password.
    assert names - {"DATABASE_URL", "DATABASE_DIRECT_URL", "REDIS_URL"} <= set(SETTINGS)
    assert set(CANARIES) - {PASSWORD_OF_ALICE, PROVIDER_KEY, *STORED} <= set(secrets_in(SETTINGS))


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_no_canary_is_told_by_work_by_failures_or_to_an_administrator(site: Site) -> None:
    read = Read()
    runs = [ask(site, read, Script(text="All is well.")) for _ in range(2)]
    for fault in FAULTS:
        runs.append(ask(site, read, fault))
    knock(site, read)
    look_as_administrator(site, read)
    read.note("doctor", told(site, "doctor"))
    read.note("check", told(site, "check"))
    read.note("log", site.logs())
    read.note("database", everything_in(site.env["DATABASE_URL"]))
    read.note("redis", everything_in_redis(site.env["REDIS_URL"]))

    assert read.found() == []
    assert len(runs) >= 5
    assert "invalid_api_key" not in read.texts["events"]
    for where in ("log", "events", "http", "admin", "prompts", "database", "doctor"):
        assert len(read.texts[where]) > 200, f"something was read: {where}"
    # The secrets were there to be told.
    assert PROVIDER_KEY in read.keys_sent


FAULTS: Final = [
    Script(status=401, error_code="invalid_api_key", error_message=f"Incorrect API key provided: {PROVIDER_KEY}"),
    Script(status=400, error_message=f"The header Bearer {PROVIDER_KEY} is wrong"),
    Script(error_after=2, text="one two three four", error_message=f"key {PROVIDER_KEY}"),
]


def ask(site: Site, read: Read, script: Script) -> Any:
    site.model.reset()
    site.model.script(script.model_copy(update={"times": 0}))
    run = site.ask("What is the weather like?")
    (ended,) = site.until_ended(run)
    read.note("prompts", json.dumps([call.body for call in site.model.calls]))
    read.keys_sent += str([call.headers for call in site.model.calls])
    read.note("events", json.dumps(site.events(run)))
    shown = httpx.get(site.url(f"executions/{run}"), headers=site.headers)
    read.note("http", shown.text)
    return ended


def knock(site: Site, read: Read) -> None:
    """Doors of people and programs, rightly and wrongly."""
    with httpx.Client(base_url=site.base_url, follow_redirects=True) as client:
        for path in (
            "accounts/login/",
            "accounts/register/",
            "accounts/password/reset/",
            "metrics",
            "readyz",
            "healthz",
        ):
            read.note("http", client.get(path).text)
        read.note("http", client.get("/metrics", headers={"Authorization": f"Bearer {canary('x')}"}).text)
        wrong = {"email": EMAIL, "password": PASSWORD_OF_ALICE}
        read.note("http", client.post("/api/v1/auth/token", json=wrong).text)
        read.note("http", client.post("/api/v1/auth/token", json=[wrong]).text)
        token = client.cookies["csrftoken"]
        form = {"csrfmiddlewaretoken": token, "email": EMAIL, "password": PASSWORD_OF_ALICE}
        read.note("http", client.post("/accounts/login/", data=form).text)
        read.note("http", client.post("/accounts/password/reset/", data=form).text)
        for path in ("/api/v1/me", "/api/v1/executions", "/api/v1/agents", "/api/schema/?format=json"):
            read.note("http", client.get(path, headers=site.headers).text)


def look_as_administrator(site: Site, read: Read) -> None:
    with httpx.Client(base_url=site.base_url, follow_redirects=True, timeout=30) as client:
        client.get("/accounts/login/")
        form = {
            "csrfmiddlewaretoken": client.cookies["csrftoken"],
            "email": "root@example.org",
            "password": SETTINGS["HYPERAGENT_ADMIN_PASSWORD"],
        }
        assert client.post("/accounts/login/", data=form).url.path == "/"
        home = client.get("/admin/").text
        assert "Administration | HyperAgent" in home
        read.note("admin", home)
        tables = ["mcpserver", "mailaccount", "execution", "step", "event", "runner", "modelcall"]
        for table in [f"agents/{name}" for name in tables] + ["notices/endpoint", "accounts/user", "accounts/apitoken"]:
            listed = client.get(f"/admin/{table}/")
            read.note("admin", listed.text)
            for row in sorted(set(rows_in(listed.text, table)))[:3]:
                read.note("admin", client.get(row).text)
        for path in ("/settings/connections/", "/settings/mcp/", "/mail/", "/settings/webhooks/"):
            read.note("http", client.get(path).text)


def rows_in(html: str, table: str) -> Iterator[str]:
    for piece in html.split('href="')[1:]:
        address = piece.partition('"')[0].partition("?")[0]
        if address.startswith(f"/admin/{table}/") and address.endswith("/change/"):
            yield address


def told(site: Site, *command: str) -> str:
    done = template.run([sys.executable, "manage.py", *command], cwd=BASE_DIR, env=site.env)
    return done.stdout + done.stderr


def everything_in(url: str) -> str:
    """Every row of every table, as text; what is encoded stands there as it is kept."""
    texts = []
    with psycopg.connect(url, autocommit=True) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in tables:
            texts += [row[0] for row in connection.execute(f'SELECT t::text FROM "{table}" t').fetchall()]
    return "\n".join(texts)


def everything_in_redis(url: str) -> str:
    client = redis.Redis.from_url(url)
    texts = []
    for key in client.scan_iter():
        kind = str(client.type(key))
        value = client.get(key) if "string" in kind else client.dump(key)
        texts.append(f"{key!r} {value!r}")
    return "\n".join(texts)


# ── as it is stored ──


@pytest.mark.django_db
def test_what_people_entrust_to_us_is_stored_sealed(alice: Any) -> None:
    sealed = credentials.sealed(credentials.Password(password="hunter22"))
    account = MailAccount.objects.create(user=alice, kind="imap", address="a@example.org", sealed=sealed)
    account.refresh_from_db()

    assert "hunter22" not in account.sealed
    assert credentials.unsealed(account.sealed, credentials.Password).password.get_secret_value() == "hunter22"
    assert "hunter22" not in sealing.sealed({"headers": {"authorization": "hunter22"}})


def test_a_changed_key_opens_what_the_former_one_sealed_and_a_strange_one_does_not(settings: Any) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "o" * 40, []
    kept = seal("hunter22", Purpose.MAILBOX)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 40, ["o" * 40]

    assert "hunter22" not in kept
    assert unseal(kept, Purpose.MAILBOX) == "hunter22"
    for faulty, purpose in ((kept, Purpose.WEBHOOK), ("nonsense ä", Purpose.MAILBOX)):
        with pytest.raises(Unreadable):
            unseal(faulty, purpose)
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(Unreadable):
        unseal(kept, Purpose.MAILBOX)


# As an installation has them, sealed with the key of the test below.
KEPT: Final = {
    Purpose.MAILBOX: "gAAAAABrC-GvKGoEGkd_bynL9yWjBPstFg7Zn6xs2nVJnyKmevmy__i"
    "DuvV5qdj_fF7SJWGvawYKWFw8y5LGc3ekZ7S4KaEdGw==",
    Purpose.MCP_SERVER: "gAAAAABrC-Gv2jpRMFfR4RuNuCju5TIF2l869U9QRw0zRiW03Arhqo6"
    "5U2wySyF7AsVJFhxtkWNCZuJ09sPJ4ZKUU7FFSFiJ-A==",
    Purpose.SECOND_FACTOR: "gAAAAABrC-Gvyi6KMborE5Rr1-YDu0Px5PolEi1CxWCQU6ii_ymQ_sl"
    "deHwN2sLcqes5j625SIElmNQT3AfJRxiMQ4MqGox4ww==",
    Purpose.WEBHOOK: "gAAAAABrC-GvvgR8z43ZidmG5u2jEPY-IX6ZrQ2_b06hJGKFEVMJ_LC"
    "9AKNxkas4nJCALNykosMX9cYTzwCKXA7I-MTN09JYGw==",
}
SECRETS: Final = {
    Purpose.MAILBOX: "a password",
    Purpose.MCP_SERVER: "a token",
    Purpose.SECOND_FACTOR: "a seed",
    Purpose.WEBHOOK: "whsec_x",
}


def test_what_was_sealed_for_any_purpose_is_read_for_ever(settings: Any) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a key of the house, of forty characters!", []

    assert {purpose: unseal(KEPT[purpose], purpose) for purpose in Purpose} == SECRETS


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/accounts/password/reset/{}/", "MDE5/d1x8zz-0f9b2c6c2a3b4c5d6e7f8091a2b3c4d5"),
        ("/accounts/invited/{}/", signing.Signer(key="k", salt="x").sign_object([uuid.uuid4().hex, 12])),
        ("/s/{}/", token_of(uuid.uuid4())),
        ("/s/{}/continue/", token_of(uuid.uuid4())),
    ],
    ids=["password", "invitation", "shared", "shared further"],
)
def test_a_link_that_opens_a_door_is_no_line_of_the_log(path: str, word: str) -> None:
    """Whoever reads the log could set the password, accept the invitation, or read the conversation."""
    assert redact(f"GET {path.format(word)} 302", ()) == f"GET {path.format(HIDDEN)} 302"
    assert redact(f'{{"request": "GET {path.format(word)}"}}', ()) == f'{{"request": "GET {path.format(HIDDEN)}"}}'
