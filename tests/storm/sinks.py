"""Where the effects of a storm arrive, counted by their idempotency keys: mails, and orders at a shop."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Final, Self

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from tests.invariants import Sink as Counted
from tests.mail.dovecot import Dovecot
from tests.mail.sink import Sink as MailSink
from tests.mcp.servers import Served
from tests.storm.model import ORDER_TOOL

KEY: Final = "io.hyperagent/idempotency-key"
TAKES_S: Final = 0.1
_KEY_IN_ID = re.compile(r"<(?P<key>[^@>]+)@")


class Shop:
    """A server of the Model Context Protocol that takes orders. `hangs_up`: it takes them and says nothing of it;
    `refuses`: it takes none, and says so."""

    def __init__(self, on_arrival: Callable[[], None]) -> None:
        self.on_arrival = on_arrival
        self.hangs_up = self.refuses = False
        self._lock = threading.Lock()
        self._keys: Counter[str] = Counter()
        self._items: Counter[str] = Counter()
        self._served = Served(self._server())

    def start(self) -> "Shop":
        self._served.start()
        return self

    def stop(self) -> None:
        self._served.stop()

    @property
    def url(self) -> str:
        return self._served.url

    def by_key(self) -> dict[str, int]:
        with self._lock:
            return dict(self._keys)

    def has(self, item: str) -> bool:
        with self._lock:
            return self._items[item] > 0

    def _server(self) -> MCPServer:
        server = MCPServer("shop")

        @server.tool()
        def order(item: str, context: Context[Any, Any]) -> str:
            """Orders one of an item."""
            if self.refuses:
                raise ValueError("the shop is closed")
            meta: Mapping[str, Any] = context.request_context.meta or {}
            with self._lock:
                self._keys[str(meta.get(KEY))] += 1
                self._items[item] += 1
            self.on_arrival()
            if self.hangs_up:
                self._served.abort()
            return f"ordered {item}"

        return server


class Sinks:
    """All of them, and the mailbox that sent mails are found in. A context manager. `on_arrival`: what is to be done
    when the next mail or order has arrived."""

    def __init__(self) -> None:
        self.on_arrival: Callable[[], None] | None = None
        self.shop = Shop(self._arrived)
        self.mail = MailSink(on_arrival=lambda mail: self._arrived())
        self.mailbox = Dovecot()
        self._stack = ExitStack()
        self._told: set[str] = set()

    def __enter__(self) -> Self:
        self._stack.enter_context(self.mailbox)
        self._stack.enter_context(self.mail)
        self.shop.start()
        self._stack.callback(self.shop.stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _arrived(self) -> None:
        """In the thread of a server, which tells the sender only after this."""
        if (do := self.on_arrival) is not None:
            do()
        # So that whatever else breaks finds effects under way now and then.
        time.sleep(TAKES_S)

    def hang_up(self, *, yes: bool) -> None:
        self.shop.hangs_up = self.mail.hangs_up = yes

    def refuse(self, *, yes: bool) -> None:
        self.shop.refuses = yes
        self.mail.says = "451 4.3.0 try again later" if yes else "250 taken"

    def has(self, tag: str) -> bool:
        """Whether the effect of this run arrived: what its person would see in the world."""
        return self.shop.has(tag) or any(str(mail.message["Subject"]) == tag for mail in list(self.mail.arrived))

    def counted(self, *, keys: Collection[str]) -> tuple[Counted, ...]:
        """`keys`: those of the ledger that are looked at now. What came under no key of any ledger is among them; what
        arrived twice is always told."""
        mails = {_key_of(message_id): count for message_id, count in self.mail.count().items()}
        subjects = Counter(str(mail.message["Subject"]) for mail in list(self.mail.arrived))
        return (
            Counted("the mail server", self._new(mails, keys), "send_email"),
            Counted(
                "the mail server, by subject", {subject: count for subject, count in subjects.items() if count > 1}
            ),
            Counted("the shop", self._new(self.shop.by_key(), keys), ORDER_TOOL),
        )

    def _new(self, counts: Mapping[str, int], keys: Collection[str]) -> dict[str, int]:
        found = {key: count for key, count in counts.items() if key in keys or key not in self._told or count > 1}
        self._told.update(found)
        return found

    @property
    def effects(self) -> int:
        return len(self.mail.arrived) + sum(self.shop.by_key().values())


def _key_of(message_id: str) -> str:
    found = _KEY_IN_ID.match(message_id)
    return found["key"] if found else message_id
