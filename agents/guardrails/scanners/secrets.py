"""Secrets by what their makers put in front of them, and values that programs call secret and that look like chance.

Owns what a key looks like. Placeholders ("your-key-here", `${TOKEN}`) and the keys of manuals are none.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject

NAME: Final = "secrets"
KIND: Final = "secret"
INSTEAD: Final = "[secret removed]"

_ISSUED: Final = (
    ("of OpenAI", r"sk-(?:proj-|svcacct-|admin-|None-)?[A-Za-z0-9_-]{20,}"),
    ("of Google", r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),
    ("of Google", r"ya29\.[0-9A-Za-z_-]{20,}"),
    ("of Google", r"GOCSPX-[0-9A-Za-z_-]{20,}"),
    ("of AWS", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![0-9A-Za-z])"),
    ("of GitHub", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("of GitHub", r"github_pat_[A-Za-z0-9_]{40,}"),
    ("of GitLab", r"gl(?:pat|dt|rt|ptt|cbt|oas|ft|soat|agent|imt|ffct)-[A-Za-z0-9_.-]{20,}"),
    ("of Slack", r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{16,}"),
    ("of Slack", r"xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    ("of Slack", r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9]{16,}"),
    ("of Stripe", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("of Stripe", r"whsec_[A-Za-z0-9+/=]{24,}"),
    ("of npm", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    ("of PyPI", r"pypi-AgE[A-Za-z0-9_-]{40,}"),
    ("of Hugging Face", r"hf_[A-Za-z0-9]{30,}"),
    ("of SendGrid", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}"),
    ("of Telegram", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}"),
    ("of DigitalOcean", r"do[opr]_v1_[a-f0-9]{64}"),
    ("of Databricks", r"dapi[a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])"),
    ("of Shopify", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("of Tavily", r"tvly-(?:dev-|prod-)?[A-Za-z0-9-]{20,}"),
    ("of E2B", r"e2b_[a-f0-9]{32,}"),
    ("of Groq", r"gsk_[A-Za-z0-9]{40,}"),
    ("of xAI", r"xai-[A-Za-z0-9]{40,}"),
    ("of age", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("that is signed (JWT)", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
)
_PREFIXES: Final = (
    "sk-", "AIza", "ya29.", "GOCSPX-", "AKIA", "ASIA", "ABIA", "ACCA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_",
    "github_pat_", "gl", "xox", "xapp-", "hooks.slack.com/", "sk_", "rk_", "whsec_", "npm_", "pypi-", "hf_", "SG.",
    ":AA", "_v1_", "dapi", "shp", "tvly-", "e2b_", "gsk_", "xai-", "AGE-SECRET-KEY-", "eyJ",
)  # fmt: skip
"""Without one of these in it a text has no such key: a look that costs a tenth of the patterns."""
_KEYS: Final = re.compile(
    "(?<![A-Za-z0-9_])(?:" + "|".join(f"(?P<k{at}>{pattern})" for at, (_, pattern) in enumerate(_ISSUED)) + ")"
)

PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:\\[rn]|\s){0,8}"
    r"(?:[A-Z][A-Za-z-]{2,20}: [^\n]{0,200}\s{1,4}){0,4}(?P<value>[A-Za-z0-9+/=\s\\]{20,})"
)
"""What stands between the marks of a private key; the marks stay."""
_CONNECTION: Final = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@\"'<>`]{0,64}:(?P<value>[^\s@\"'<>`]{3,128})@[\w\[]"
)
_ACCOUNT_KEY: Final = re.compile(r"(?i)(?:AccountKey|SharedAccessKey|SharedSecret)=(?P<value>[A-Za-z0-9+/]{30,}={0,2})")
_PASSWORD_IN_DSN: Final = re.compile(
    r"(?i)(?:;|\b)(?:password|pwd)=(?P<value>[^\s;\"'<>`]{6,64});|\b(?:user|host|dbname|server)=[^\s;]{1,64}[\s;]+"
    r"password=(?P<other>[^\s;\"'<>`]{6,64})"
)
_BEARER: Final = re.compile(r"(?i)\b(?:bearer|basic)[\s\"']{1,3}(?P<value>[A-Za-z0-9._~+/-]{16,4096}={0,2})")
_ASSIGNED: Final = re.compile(
    r"(?i)(?:api[_-]?key|apikey|secret|token|passw(?:or)?d|passwd|passphrase|pwd|"
    r"access[_-]?key|private[_-]?key|credential|auth[_-]?key|signing[_-]?key|encryption[_-]?key|kennwort|passwort|"
    r"mot de passe|contraseña)[\w-]{0,24}[\"'`*]{0,3}\s{0,3}(?::=|=>|=|:|\bis\b|\bist\b)\s{0,3}[\"'`*]{0,3}"
    r"(?P<value>[A-Za-z0-9+/_=.!@#$%^&*~-]{12,512})"
)
_ASSIGNING: Final = re.compile(r"(?i)key|secret|token|passw|passphrase|pwd|credential|kennwort|mot de passe|contrase")

_PLACEHOLDER: Final = re.compile(
    r"(?i)example|your|insert|replace|change[-_]?me|placeholder|redacted|removed|dummy|sample|fake|x{4}|\*{3}|\.{3}|…|"
    r"0{6}|1234567|abcdef(?!\d)|todo|<|>|\$\{|\{\{|%\(|process\.env|os\.environ|getenv|secrets?\."
)
_NO_PASSWORD: Final = re.compile(
    r"(?i)(?:my|the|db|super|some|a|user|test|app|local|dev)?[-_]?(?:strong|secure|secret|db|postgres|mysql|mongo|redis|"
    r"admin|root|guest|user|login)?[-_]?(?:pass|password|passwd|pwd|secret|pw|postgres|mysql|root|admin|guest|user|test|"
    r"s3cret|p@ssw0rd|passw0rd|hunter2|token|x-oauth-basic|x-access-token)[-_]?\d{0,3}[!]?|[$%].*|\{.*\}|x+|\*+|\.+|\d{1,5}"
)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NAMES_IN_PROGRAMS: Final = re.compile(r"[A-Za-z_][a-z_]*(?:[._-][A-Za-z_][a-z_]*)*\d{0,3}|[A-Z][A-Z_]*\d{0,2}")


def scan(text: str, subject: Subject) -> list[Finding]:
    """In order, none within another."""
    found: list[Finding] = []
    for left, right, what in sorted(_secrets_in(text), key=lambda one: (one[0], -one[1])):
        if not found or left >= found[-1].end:
            reason = f"A secret stood in the answer: {what}."
            found.append(Finding(NAME, KIND, left, right, Certainty.CERTAIN, reason, INSTEAD))
    return found


def _secrets_in(text: str) -> Iterator[tuple[int, int, str]]:
    if any(prefix in text for prefix in _PREFIXES):
        for found in _KEYS.finditer(text):
            if _looks_like_chance(found[0]):
                yield *found.span(), f"a key {_ISSUED[int((found.lastgroup or 'k0')[1:])][0]}"
    if "-----BEGIN" in text:
        for found in PRIVATE_KEY.finditer(text):
            if any(map(str.isdigit, found["value"])):
                yield found.start("value"), found.start("value") + len(found["value"].rstrip()), "a private key"
    if "://" in text:
        for found in _CONNECTION.finditer(text):
            if not _NO_PASSWORD.fullmatch(found["value"]) and not _PLACEHOLDER.search(found["value"]):
                yield *found.span("value"), "the password of a connection"
    if "=" in text or ":" in text or " is" in text:
        yield from _assigned(text)
    for found in _BEARER.finditer(text):
        if _looks_like_chance(found["value"]):
            yield *found.span("value"), "what a request is authorised with"


def _assigned(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _ACCOUNT_KEY.finditer(text):
        if _looks_like_chance(found["value"]):
            yield *found.span("value"), "the key of an account"
    for found in _PASSWORD_IN_DSN.finditer(text):
        name = "value" if found["value"] is not None else "other"
        value = found[name]
        if not _NO_PASSWORD.fullmatch(value) and not _PLACEHOLDER.search(value):
            yield *found.span(name), "the password of a connection"
    if _ASSIGNING.search(text) is None:
        return
    for found in _ASSIGNED.finditer(text):
        value = found["value"].rstrip(".!*")
        ends = found.start("value") + len(value)
        if text[ends : ends + 1] not in ("(", "[") and _is_random(value):
            yield found.start("value"), ends, "a value that is called secret"


def _looks_like_chance(value: str) -> bool:
    """No placeholder, and no word of letters alone."""
    return not _PLACEHOLDER.search(value) and any(map(str.isdigit, value)) and entropy_bits(value) > 3.0


def _is_random(value: str) -> bool:
    """Letters and digits mixed as no name in a program is."""
    if len(value) < 12 or _PLACEHOLDER.search(value) or _UUID.fullmatch(value) or _NAMES_IN_PROGRAMS.fullmatch(value):
        return False
    value = max(re.split("[._/-]", value), key=len)
    digits = sum(map(str.isdigit, value))
    if len(value) < 10:
        return False
    if all(character in "0123456789abcdefABCDEF" for character in value):
        return len(value) >= 24 and digits != len(value)
    kinds = digits > 0, any(map(str.islower, value)), any(map(str.isupper, value)), not value.isalnum()
    return digits >= 2 and sum(kinds) >= 3 and entropy_bits(value) >= 3.0


def entropy_bits(text: str) -> float:
    """Shannon's, by character."""
    total = len(text)
    return -sum(count / total * math.log2(count / total) for count in Counter(text).values())


SCANNER: Final = Scanner(NAME, frozenset({Place.OUTPUT}), scan, order=20)
