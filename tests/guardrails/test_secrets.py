"""Secrets in answers: keys by who issued them, what opens a connection, and what a program calls secret."""

import random
import string

import pytest

from agents.guardrails.scanner import Subject
from agents.guardrails.scanners.secrets import SCANNER

LETTERS = string.ascii_letters + string.digits
chance = random.Random(20261122)


def some(length: int, alphabet: str = LETTERS) -> str:
    """Made anew for each process: nothing in this file is a key of anybody."""
    return "9k" + "".join(chance.choice(alphabet) for _ in range(length - 2))


def found(text: str) -> list[str]:
    return [text[one.start : one.end] for one in SCANNER.scan(text, Subject())]


HEX = "0123456789abcdef"
ISSUED = (
    f"sk-{some(48)}",
    f"sk-proj-{some(64)}",
    f"sk-ant-api03-{some(90)}-{some(6)}AA",
    f"AIza{some(35)}",
    f"GOCSPX-{some(28)}",
    f"AKIA{''.join(chance.choice('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567') for _ in range(15))}7",
    f"ghp_{some(36)}",
    f"github_pat_{some(22)}_{some(59)}",
    f"glpat-{some(20)}",
    f"xoxb-2948105736{some(2)}-{some(24)}",
    f"sk_live_{some(24)}",
    f"whsec_{some(32)}",
    f"npm_{some(36)}",
    f"hf_{some(34)}",
    f"SG.{some(22)}.{some(43)}",
    f"7382910465:AA{some(33)}",
    f"tvly-{some(32)}",
    f"eyJ{some(30)}.eyJ{some(60)}.{some(43)}",
)


@pytest.mark.spec("S206")
@pytest.mark.threat("T23")
@pytest.mark.parametrize("key", ISSUED, ids=[key[:6] for key in ISSUED])
def test_a_key_is_known_by_who_issued_it(key: str) -> None:
    assert found(f"Use `{key}` for it.") == [key]
    assert found(f'{{"value":"{key}"}}') == [key]


@pytest.mark.spec("S206")
@pytest.mark.threat("T23")
def test_what_opens_a_connection_is_taken_out_and_the_rest_of_it_stays() -> None:
    password, token = some(16), some(40)
    lines = {
        f"postgres://app:{password}@db.acme.io:5432/shop": password,
        f"mongodb+srv://app:{password}@cluster0.acme.io/": password,
        f"redis://:{password}@cache.acme.io:6379/0": password,
        f"Server=db;Database=shop;User Id=app;Password={password};": password,
        f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={some(86)}==;": None,
        f"Authorization: Bearer {token}": token,
        f'curl -H "Authorization: Basic {token}=="': f"{token}==",
        f"aws_secret_access_key = {token}": token,
        f'"client_secret": "{token}"': token,
        f"DB_PASSWORD='{password}'": password,
        f"export API_KEY={token}": token,
        f"Your password is {password}.": password,
        f"session_token: {some(42, HEX)[2:]}": None,
    }

    for line, secret in lines.items():
        assert found(line) == [secret] if secret else len(found(line)) == 1, line


@pytest.mark.threat("T23")
@pytest.mark.parametrize("kind", ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""])
def test_of_a_private_key_the_marks_stay(kind: str) -> None:
    body = "\n".join(some(64) for _ in range(12)) + f"\n{some(20)}=="
    text = f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----\n"

    assert found(text) == [body]
    assert found(text.replace("\n", "\\n")) == [body.replace("\n", "\\n") + "\\n"]


def test_two_secrets_of_one_line_are_two() -> None:
    one, other = some(36), some(36)

    assert found(f"ghp_{one} and ghp_{other}") == [f"ghp_{one}", f"ghp_{other}"]


@pytest.mark.parametrize(
    "line",
    [
        "password = config.database2.password_v1; token = user_token_2; secret = self._secret_2024",
        "api_key = get_api_key(42); token = tokens[17]; secret_name = 'prod/db/main'",
        "token: string-with-dashes-2024-01-02T10; the secret: breathe, every day at 10.30",
        "postgres://postgres:postgres@localhost/db, mysql://root:secret123@127.0.0.1, amqp://guest:guest@mq",
        "postgres://app:${DB_PASSWORD}@db/x, https://user:<password>@host.example.com, ftp://a:****@b.org",
        "Bearer tokens are sent as `Authorization: Bearer <token>`; basic authentication; bearer-of-bad-news-2024",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "csrf_token: 550e8400-e29b-41d4-a716-446655440000",
        "risk-management-and-something-else-2024 sk-learn-contrib-1234 task_sk_live_test",
        "eyJust a word, AIza, ghp_, xoxb-, hf_transfer==0.1.9, SG.sendgrid, npm_config_registry, npm_lifecycle_event",
        "max_tokens: 4096, tokens_per_second = 123.45678901, token_count=1234567890123, num_tokens = 100000000000",
        "The password must have 12 characters, 1 digit and 1 sign, such as Tr0ub4dor&3.",
        "secretary: Mrs.Robinson-2024, keyboard: Logitech-MX-2023-v2, passwordless: WebAuthn-Level-2",
    ],
)
def test_names_in_programs_placeholders_and_hashes_are_no_secrets(line: str) -> None:
    assert found(line) == []
