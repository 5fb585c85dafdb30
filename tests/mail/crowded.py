"""A mailbox with more mails than anybody puts into a real one for a test. It knows what a search needs, and no more."""

import re
import socketserver
import threading
from types import TracebackType
from typing import Final, Self

_SEARCHED: Final = re.compile(r"UID SEARCH (?:(\d+):(\*|\d+)\s?)?(.*)$")
_FETCHED: Final = re.compile(r"UID FETCH (\S+) ")


class Crowded:
    """Mails numbered from 1 to `mails`, with uids above a thousand millions, as old mailboxes have them. Every search
    fits them all, or those whose uids end as `FROM` says. `searched`: the searches that it was told of."""

    def __init__(self, mails: int) -> None:
        self.mails = mails
        self.searched: list[str] = []
        crowded = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"* OK crowded\r\n")
                for line in self.rfile:
                    tag, _, command = line.decode().strip().partition(" ")
                    self.wfile.write(crowded.answer(tag, command))
                    if command == "LOGOUT":
                        return

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def url(self) -> str:
        return f"imap://bob:secret@127.0.0.1:{self._server.server_address[1]}"

    def answer(self, tag: str, command: str) -> bytes:
        said = ""
        if command.startswith("CAPABILITY"):
            said = "* CAPABILITY IMAP4rev1\r\n"
        elif command.startswith(("SELECT", "EXAMINE")):
            said = f"* {self.mails} EXISTS\r\n* OK [UIDVALIDITY 7] is\r\n"
        elif searched := _SEARCHED.match(command):
            self.searched.append(command)
            said = self._found(*searched.groups())
        elif fetched := _FETCHED.match(command):
            text = "Subject: Hello\r\n\r\nhello"
            uids = fetched[1].split(",")
            said = "".join(f"* 1 FETCH (UID {uid} BODY[]<0> {{{len(text)}}}\r\n{text})\r\n" for uid in uids)
        return f"{said}{tag} OK done\r\n".encode()

    def _found(self, first: str | None, last: str | None, terms: str) -> str:
        numbers = range(int(first or 1), (self.mails if last in (None, "*") else int(last or 0)) + 1)
        wanted = re.search(r'FROM "(\d+)"', terms)
        uids = (str(1_000_000_000 + number) for number in numbers)
        return f"* SEARCH {' '.join(uid for uid in uids if not wanted or uid.endswith(wanted[1]))}\r\n"
