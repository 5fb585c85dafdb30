"""Gmail's REST API with a person's leave: renews the leave, and says what went wrong in our own words."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import structlog

from agents.mail.credentials import Grant
from agents.mail.gmail import oauth
from agents.mail.gmail.google import Google
from agents.mail.kinds import AccountState
from agents.mail.troubles import MailTrouble
from agents.tools.tool import ToolError
from hyperagent.lib.outside.calling import Answer, NotAnswered, NotJson, call
from hyperagent.lib.outside.fetching import Fault

log = structlog.get_logger(__name__)

TIMEOUT_S: Final = 25.0
ANSWER_BYTES: Final = 3_000_000
# Through the other address mails of more than a few megabytes are taken as well.
LARGE_BYTES: Final = 3_000_000
# Of a mail with all its files, over a slow line.
HANDING_OVER_S: Final = 170.0
NOT_THERE: Final = "Gmail has no such mail any more: search for it again."
NOT_ALLOWED: Final = f"Google was not given leave for this. {oauth.AGAIN}"
NOT_ENABLED: Final = (
    "The Gmail API is not switched on for this installation. An administrator has to do that at Google."
)
BY_POLICY: Final = "The administrators of this Google account do not allow it. Ask them."
TOO_OFTEN: Final = "Gmail has had too many requests for this mailbox. Try again in a few minutes."
MAY_BE_SENT: Final = "The connection to Gmail broke while it took the mail: it may have been sent."
NOT_SAID: Final = "The connection to Gmail broke while it took the draft. Try again later."
NOTHING_SENT: Final = "Nothing was sent."
_BUSY_REASONS: Final = ("rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded")


class TooLarge(Exception):
    """More than was to be read."""


class Gone(MailTrouble):
    """What was asked for is not there any more."""


class GmailApi:
    """`keep`: called with each renewed leave, to store it."""

    def __init__(self, google: Google, grant: Grant, keep: Callable[[Grant], Awaitable[None]]) -> None:
        self._google = google
        self._grant = grant
        self._keep = keep

    async def get(
        self, path: str, params: Mapping[str, str | int] | None = None, *, max_bytes: int = ANSWER_BYTES
    ) -> dict[str, Any]:
        """`path`: below `users/me/`. Raises MailTrouble, ToolError, and TooLarge."""
        return _json(await self._patiently("GET", path, params=params, max_bytes=max_bytes))

    async def delete(self, path: str) -> None:
        await self._patiently("DELETE", path)

    async def ready(self) -> None:
        """That we are let in, and that there is a way: what follows fails for neither. Raises MailTrouble."""
        await self.get("profile")

    async def send(self, raw: bytes, *, encoded: str, thread_id: str | None) -> dict[str, Any]:
        """Once, and never again. Raises ToolError, which says whether the mail may have been sent."""
        about = {"threadId": thread_id} if thread_id else {}
        inline = {**about, "raw": encoded}
        answer = await self._handed_over("messages/send", raw, about=about, inline=inline, in_doubt=MAY_BE_SENT)
        if not answer.is_ok:
            trouble = _trouble(answer, doing="send this mail. Check the addresses")
            raise trouble.with_more(NOTHING_SENT)
        return _taken(answer)

    async def keep_draft(self, raw: bytes, *, encoded: str, thread_id: str | None) -> dict[str, Any]:
        """Once. Raises ToolError, which says whether the draft may be there all the same."""
        about = {"threadId": thread_id} if thread_id else {}
        inline = {"message": {**about, "raw": encoded}}
        answer = await self._handed_over("drafts", raw, about={"message": about}, inline=inline, in_doubt=NOT_SAID)
        if not answer.is_ok:
            raise _trouble(answer, doing="keep this draft")
        return _taken(answer)

    # --- inside

    async def _handed_over(
        self, path: str, raw: bytes, *, about: Mapping[str, Any], inline: Mapping[str, Any], in_doubt: str
    ) -> Answer:
        """A whole mail. `about`: what is to be known of a large one; `inline`: the same with the mail within."""
        upload = {"content": _multipart(raw, about), "params": {"uploadType": "multipart"}}
        how: dict[str, Any] = upload if len(raw) > LARGE_BYTES else {"json": inline}
        try:
            answer = await self._call("POST", path, timeout_s=HANDING_OVER_S, **how)
        except NotAnswered as error:
            log.warning("mail.gmail_no_answer", why=str(error))
            raise MailTrouble(in_doubt, may_have_happened=True) from None
        if answer.status >= 500:
            raise MailTrouble(in_doubt, may_have_happened=True)
        return answer

    async def _patiently(self, method: str, path: str, **how: Any) -> Answer:
        """For what may be asked twice."""
        try:
            answer = await self._call(method, path, **how)
            if answer.status == 401:
                await self._renew()
                answer = await self._call(method, path, **how)
        except NotAnswered as error:
            if error.fault is Fault.TOO_BIG:
                raise TooLarge from None
            log.warning("mail.gmail_away", why=str(error))
            raise MailTrouble("Gmail cannot be reached just now. Try again later.") from None
        if not answer.is_ok:
            raise _trouble(answer, doing="do this")
        return answer

    async def _call(self, method: str, path: str, *, timeout_s: float = TIMEOUT_S, **how: Any) -> Answer:
        if oauth.is_stale(self._grant):
            await self._renew()
        prefix = "/upload" if "content" in how else ""
        url = f"{self._google.api_url}{prefix}/gmail/v1/users/me/{path}"
        headers = {"authorization": f"Bearer {self._grant.access_token.get_secret_value()}"}
        how.setdefault("max_bytes", ANSWER_BYTES)
        retries = 2 if method == "GET" else 0
        return await call(method, url, headers=headers, timeout_s=timeout_s, retries=retries, **how)

    async def _renew(self) -> None:
        self._grant = await oauth.refreshed(self._google, self._grant)
        await self._keep(self._grant)


def _taken(answer: Answer) -> dict[str, Any]:
    """What Gmail says of a mail that it has."""
    try:
        return _json(answer)
    except ToolError:
        # Only its id is not known.
        return {}


def _json(answer: Answer) -> dict[str, Any]:
    if not answer.body:
        return {}
    try:
        said = answer.json()
    except NotJson:
        raise MailTrouble("Gmail gave an answer that makes no sense. Try again later.") from None
    return said if isinstance(said, dict) else {}


def _trouble(answer: Answer, *, doing: str) -> MailTrouble:
    status, reasons = answer.status, _reasons(answer)
    log.warning("mail.gmail_refused", status=status, reasons=reasons)
    is_busy = status == 429 or any(reason in _BUSY_REASONS for reason in reasons)
    state = AccountState.TROUBLE
    match status:
        case 401:
            why, state = oauth.REVOKED, AccountState.RECONNECT
        case 404:
            return Gone(NOT_THERE, state=AccountState.OK)
        case _ if is_busy:
            why = TOO_OFTEN
        case _ if "accessNotConfigured" in reasons or "SERVICE_DISABLED" in reasons:
            why = NOT_ENABLED
        case _ if "domainPolicy" in reasons:
            why = BY_POLICY
        case 403:
            why, state = NOT_ALLOWED, AccountState.RECONNECT
        case _ if status >= 500:
            why = "Gmail has trouble of its own just now. Try again later."
        case _:
            why, state = f"Gmail did not {doing} ({status}).", AccountState.OK
    return MailTrouble(why, state=state)


def _reasons(answer: Answer) -> list[str]:
    """The names of what is wrong; Google's own sentences are left alone."""
    try:
        error = answer.json()["error"]
        named = [one.get("reason") for one in [*error.get("errors", ()), *error.get("details", ())]]
    except (NotJson, KeyError, TypeError, AttributeError):
        return []
    return [str(name)[:60] for name in named if name]


def _multipart(raw: bytes, about: Mapping[str, Any]) -> tuple[bytes, str]:
    """The mail beside what is to be known of it, as uploads want it."""
    mark = "hyperagent-mail-boundary-7d1f4c"
    head = f"--{mark}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{json.dumps(about)}\r\n"
    body = f"--{mark}\r\nContent-Type: message/rfc822\r\n\r\n"
    whole = head.encode() + body.encode() + raw + f"\r\n--{mark}--\r\n".encode()
    return whole, f"multipart/related; boundary={mark}"
