"""A whole town: deploy/topology.py with a namespace for each part, the model and the mail server outside of it, and
people who come in through nginx. Used as a context manager; whatever was broken is whole again after `mend`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import httpx

from deploy import topology
from hyperagent.lib.conf import BASE_DIR
from tests.invariants import Seen, Sink, faults
from tests.mail.dovecot import Dovecot
from tests.mail.sink import Sink as MailSink
from tests.site import EMAIL, PASSWORD, Site
from tests.storm.model import StormModel
from tests.topology.relay import Relay

LEASE_S = 4
PARTS = ("postgres", "redis", "web1", "web2", "worker1", "worker2", "nginx")
# A crowded machine compiles and imports for a long time.
START_TIMEOUT_S = 300.0
_MAKE_ALICE = f"""
from hyperagent.accounts.models import User
User.objects.create_user("{EMAIL}", "{PASSWORD}")
"""


class Town(Site):
    """`Site` through nginx: what it asks comes in as people do, what it reads comes from the tables."""

    def __init__(self) -> None:
        super().__init__()
        self.model = StormModel()
        self.mail = MailSink()
        self.mailbox = Dovecot()
        self.folder = self.services.folder / "town"
        self.status: dict[str, Any] = {}
        self._stack = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self.services.stop)
            self.model.start()
            stack.callback(self.model.stop)
            stack.enter_context(self.mailbox)
            stack.enter_context(self.mail)
            outside = {
                name: stack.enter_context(Relay(port)).port
                for name, port in (("model", self.model.port), ("smtp", self.mail.port), ("imap", self.mailbox.port))
            }
            self.folder.mkdir()
            stack.callback(self._end)
            self._start(_environment(outside, smtp=self.mail.url, imap=self.mailbox.url))
            self.env = {**os.environ, "ENV_FILE": os.devnull, "DATABASE_URL": self.status["database"]}
            self.env |= {"SECRET_KEY": (self.folder / "secret_key").read_text(), "DATA_DIR": str(self.folder)}
            self.manage("shell", "-v0", "-c", _MAKE_ALICE)
            self.token = self._token()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self, env: dict[str, str]) -> None:  # type: ignore[override]
        options = (
            "--isolated",
            "--data-dir",
            str(self.folder),
            "--worker-options",
            "--runners 1 --no-embedder --no-sandboxes",
        )
        with self._log_path("topology").open("wb") as output:
            self._process = subprocess.Popen(
                (sys.executable, "-m", "deploy.topology", "up", *options),
                cwd=BASE_DIR, env=env, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.status:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the topology does not start:\n{self.log('topology')[-4000:]}")
            time.sleep(0.2)
            with suppress(RuntimeError):
                self.status = topology.ask(self.folder, "status")

    def _end(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    # --- the hand that breaks it

    def hit(self, verb: str, name: str = "") -> None:
        self.status = topology.ask(self.folder, verb, name)

    def mend(self) -> None:
        for name in PARTS:
            self.hit("rejoin", name)
            self.hit("start", name)

    # --- talking to it

    @property
    def base_url(self) -> str:
        return str(self.status["site"])

    def url(self, path: str) -> str:
        return f"{self.base_url}/api/v1/{path}"

    def log(self, name: str) -> str:
        return self._log_path("topology").read_text(errors="replace")

    def logs(self) -> str:
        return self.log("topology")

    def lines_of(self, name: str) -> str:
        """What one part wrote."""
        return "\n".join(line for line in self.logs().splitlines() if line.startswith(f"{name:<9}|"))

    def _token(self) -> str:
        wanted = {"email": EMAIL, "password": PASSWORD, "scopes": ["run", "read", "approve", "documents"]}
        token: str = self.post("auth/token", wanted).json()["token"]
        return token

    def ask_for_mail(self, tag: str) -> UUID:
        """A run that sends one mail, once somebody has approved it."""
        made = self.post("conversations", {})
        text = f"[storm {tag} mail none] Write to {tag}@example.org"
        said = self.post(f"conversations/{made.json()['id']}/messages", {"text": text, "mode": "mail"})
        assert said.status_code == 201, said.text
        return UUID(said.json()["reply"]["execution"]["id"])

    def until_asked(self, *ids: UUID, timeout_s: float = 60) -> dict[UUID, str]:
        """The open request of each run."""
        wanted = "SELECT execution_id, request_id FROM hitl_request WHERE execution_id = ANY(%s) AND status = 'pending'"
        deadline = time.monotonic() + timeout_s
        while True:
            found = {row["execution_id"]: str(row["request_id"]) for row in self.query(wanted, list(ids))}
            if len(found) == len(ids):
                return found
            assert time.monotonic() < deadline, [self.execution(id_) for id_ in ids]
            time.sleep(0.05)

    def approve(self, request_id: str) -> httpx.Response:
        return self.post("hitl/respond", {"request_id": request_id, "decision": "approved"})

    def driver_of(self, id_: UUID) -> str:
        """The worker whose runner has the lease; empty if nobody has."""
        runner = self.execution(id_)["leased_by"]
        pids = {str(part["pid"]): name for name, part in self.status["parts"].items()}
        return pids.get(runner.split("-")[-2], "") if runner else ""

    def faults(self, runs: list[UUID], **more: Any) -> list[str]:
        """What the invariants find wrong about these runs."""
        keys = {row["key"] for row in self.query("SELECT key FROM agents_effect WHERE execution_id = ANY(%s)", runs)}
        arrived = {id_.strip("<").partition("@")[0]: count for id_, count in self.mail.count().items()}
        mails = Sink("the mail server", {key: n for key, n in arrived.items() if key in keys or n > 1}, "send_email")
        seen = Seen(runs, sinks=(mails,), approved_only=("send_email",), lease_s=LEASE_S, **more)
        return faults(self.env["DATABASE_URL"], seen)


def _environment(outside: dict[str, int], *, smtp: str, imap: str) -> dict[str, str]:
    """Of the topology: nothing of the test's own servers, and the world under its name there."""
    here = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    for name in ("DATABASE_URL", "REDIS_URL", "DATA_DIR", "SECRET_KEY", "EMAIL_URL"):
        here.pop(name, None)
    provider = {
        "name": "scripted",
        "base_url": f"http://outside:{outside['model']}/v1",
        "tier_models": {"pro": "scripted-pro"},
    }
    return {
        **here,
        "ENV_FILE": os.devnull,
        "OPENAI_COMPATIBLE_PROVIDERS": json.dumps([provider]),
        "SMTP_URL": _as_outside(smtp, outside["smtp"]),
        "IMAP_URL": _as_outside(imap, outside["imap"]),
        "MAIL_ALLOW_PRIVATE": "true",
        "LEASE_SECONDS": str(LEASE_S),
        "FOLLOW_UPS": "off",
        "LOG_LEVEL": "INFO",
        "EMAIL_URL": "memorymail://",
    }


def _as_outside(url: str, port: int) -> str:
    return f"{url.rpartition('@')[0]}@outside:{port}"


def connect_within(subnet: str) -> Any:
    """A `socket.connect` that leads into the town and to this machine, and nowhere else."""
    plain = socket.socket.__mro__[1].connect  # type: ignore[attr-defined]

    def connect(self: socket.socket, address: Any) -> Any:
        if self.family != socket.AF_UNIX and not str(address[0]).startswith(("127.", "::1", "localhost", subnet)):
            raise PermissionError(f"a test wants to reach {address[0]}; only this machine and {subnet}* can be reached")
        return plain(self, address)

    return connect
