"""A mailbox on this machine: Dovecot, in a folder of its own."""

import imaplib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from hyperagent.embedded.instance import free_port
from hyperagent.lib.child import command_of

USER, PASSWORD = "team@example.org", "p@ss/wörd1"
START_TIMEOUT_S = 20.0
DOVECOT = shutil.which("dovecot") or "/usr/sbin/dovecot"
_CONFIG = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/dovecot.log
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <{folder}/cert.pem
ssl_key = <{folder}/key.pem
disable_plaintext_auth = no
auth_mechanisms = plain
auth_cache_size = 1M
auth_failure_delay = 0
mail_location = maildir:{folder}/mail/%n
mail_max_userip_connections = 200
first_valid_uid = 0
passdb {{
  driver = passwd-file
  args = scheme=PLAIN {folder}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/mail/%n
}}
service imap-login {{
  service_count = 0
  {unprivileged}
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
  }}
}}
service imap {{
  service_count = 200
  process_min_avail = 4
}}
service anvil {{
  {unprivileged}
  # Whoever was refused is not kept waiting the next time.
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
{users}
namespace inbox {{
  inbox = yes
  separator = {separator}
  {prefix}
  mailbox {sent} {{
    {special_sent}
    auto = {auto}
  }}
  mailbox {drafts} {{
    {special_drafts}
    auto = {auto}
  }}
}}
"""


class Dovecot:
    """A mailbox of one user. `named`: the names of its folders for what is sent and drafted; none are made without."""

    def __init__(self, *, named: tuple[str, str] | None = ("Sent", "Drafts"), below_inbox: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hyperagent-mail-"))
        self.folder.chmod(0o755)
        self.port, self.tls_port = free_port(), free_port()
        self._named = named
        self._below_inbox = below_inbox
        self.certificate = Path()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        assert Path(DOVECOT).exists(), "the tests need Dovecot: sh deploy/install-apt.sh, or your package manager"
        self.certificate = make_certificate(self.folder)
        for name in ("run", "state", "mail"):
            (self.folder / name).mkdir(mode=0o755, exist_ok=True)
        is_root = os.geteuid() == 0
        account = pwd.getpwnam("dovecot") if is_root else pwd.getpwuid(os.getuid())
        owner = account.pw_uid, account.pw_gid
        os.chown(self.folder / "mail", *owner)
        (self.folder / "users").write_text(f"{USER}:{{PLAIN}}{PASSWORD}:{owner[0]}:{owner[1]}::{self.folder}/mail\n")
        sent, drafts = self._named or ("Sent", "Drafts")
        text = _CONFIG.format(
            folder=self.folder,
            uid=owner[0],
            gid=owner[1],
            port=self.port,
            tls_port=self.tls_port,
            unprivileged="" if is_root else "chroot =",
            users=""
            if is_root
            else f"default_internal_user = {account.pw_name}\ndefault_login_user = {account.pw_name}",
            separator="." if self._below_inbox else "/",
            prefix="prefix = INBOX." if self._below_inbox else "",
            sent=f'"{sent}"',
            drafts=f'"{drafts}"',
            special_sent="special_use = \\Sent" if self._named == ("Sent", "Drafts") else "",
            special_drafts="special_use = \\Drafts" if self._named == ("Sent", "Drafts") else "",
            auto="create" if self._named else "no",
        )
        config = self.folder / "dovecot.conf"
        config.write_text(text)
        self._process = subprocess.Popen(
            command_of((DOVECOT, "-F", "-c", str(config))),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            assert time.monotonic() < deadline, self._log()
            time.sleep(0.02)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"imap://{quote(USER, safe='')}:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}"

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log()
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(4).startswith(b"* OK")
        except OSError:
            return False

    def _log(self) -> str:
        return (self.folder / "dovecot.log").read_text(errors="replace")[-3000:]


def make_certificate(folder: Path) -> Path:
    """A certificate for localhost that nobody has signed; and its key beside it."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    command = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
    subprocess.run(
        (*command, "-addext", names, "-keyout", str(key), "-out", str(certificate)), check=True, capture_output=True
    )
    return certificate


class Inside:
    """The mailbox as its owner's mail program sees it."""

    def __init__(self, server: Dovecot) -> None:
        self._server = server

    def put(self, folder: str, raw: bytes, *, flags: str = "") -> None:
        with self._signed_in() as imap:
            status, said = imap.append(folder, flags, None, raw)
            assert status == "OK", said

    def message_ids(self, folder: str) -> Counter[str]:
        """How many mails with each Message-ID are in the folder."""
        with self._signed_in() as imap:
            _, count = imap.select(folder, readonly=True)
            if count[0] == b"0":
                return Counter()
            _, given = imap.fetch("1:*", "(BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])")
        heads = [message_from_bytes(part[1]) for part in given if isinstance(part, tuple)]
        return Counter(str(head["Message-ID"]) for head in heads)

    def raw(self, folder: str, message_id: str) -> tuple[bytes, bytes]:
        """The only mail with this Message-ID, and its flags."""
        with self._signed_in() as imap:
            imap.select(folder, readonly=True)
            _, found = imap.search(None, "HEADER", "Message-ID", f'"{message_id}"')
            (number,) = found[0].split()
            _, given = imap.fetch(number.decode(), "(FLAGS BODY.PEEK[])")
        assert isinstance(given[0], tuple)
        return given[0][1], given[0][0]

    def empty(self, folder: str) -> None:
        with self._signed_in() as imap:
            _, count = imap.select(folder)
            if count[0] == b"0":
                return
            imap.store("1:*", "+FLAGS", r"\Deleted")
            imap.expunge()

    def make_anew(self, folder: str) -> None:
        """Another folder of the same name."""
        with self._signed_in() as imap:
            assert imap.delete(folder)[0] == "OK"
            assert imap.create(folder)[0] == "OK"

    @contextmanager
    def _signed_in(self) -> Iterator[imaplib.IMAP4]:
        with imaplib.IMAP4("127.0.0.1", self._server.port, timeout=20) as imap:
            imap.authenticate("PLAIN", lambda _: f"\0{USER}\0{PASSWORD}".encode())
            yield imap
