"""What goes wrong with a mailbox, as its people are told, and what that says of the connection to it. Pure."""

from typing import Final

from agents.mail.kinds import AccountState
from agents.tools.tool import ToolError

LOGGED_CHARS: Final = 200
INSIDE: Final = "leads into a private network, which is not reached from here. Use a public server."


class MailTrouble(ToolError):
    """`state`: how the mailbox stands after this."""

    def __init__(
        self, message: str, *, state: AccountState = AccountState.TROUBLE, may_have_happened: bool = False
    ) -> None:
        super().__init__(message, may_have_happened=may_have_happened)
        self.state = state

    def with_more(self, words: str) -> "MailTrouble":
        return MailTrouble(f"{self.message} {words}", state=self.state, may_have_happened=self.may_have_happened)


def clipped(said: object) -> str:
    """What a server said, for the log."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    return text[:LOGGED_CHARS]
