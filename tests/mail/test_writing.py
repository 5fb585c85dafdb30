"""A mail as bytes: nothing that people or strangers wrote becomes a header, and everything is read back as it was."""

import email
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.mail.reading import draft_of, message_of
from agents.mail.writing import MAX_REFERENCES, Letter, letter_of, letter_of_draft
from agents.tools.tool import ToolError
from agents.tools.values import OutgoingMail

AT = datetime(2026, 11, 22, 6, 0, tzinfo=UTC)
NAMES = {"from", "to", "cc", "bcc", "subject", "date", "message-id", "in-reply-to", "references"}
NAMES |= {"content-type", "content-transfer-encoding", "mime-version"}


def letter(**more: object) -> Letter:
    values = {"message_id": "<k@hyperagent>", "to": ("bob@example.org",), "subject": "Q3", "body": "Hello"}
    return letter_of(OutgoingMail.model_validate(values | more), sender="team@example.org", at=AT)


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(max_size=300).filter(lambda text: not set(text) & set("\r\n")), st.text(max_size=500))
def test_any_subject_and_text_is_one_header_and_comes_back(subject: str, body: str) -> None:
    written = letter(subject=subject, body=body)

    parsed = email.message_from_bytes(written.sent)
    read = message_of("1", written.sent, arrived=None, is_cut=False)

    assert {name.lower() for name in parsed} <= NAMES
    assert parsed.get_all("subject") is not None
    assert len(parsed.get_all("subject", [])) == 1
    assert all(len(line) < 998 for line in written.sent.split(b"\r\n"))
    assert written.sent.replace(b"\r\n", b"").count(b"\n") == written.sent.replace(b"\r\n", b"").count(b"\r") == 0
    wanted = "".join(char if char.isprintable() else " " for char in subject)
    assert read.subject == " ".join(wanted.split())[:500]


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_id_that_a_stranger_wrote_is_left_out_unless_it_is_one(strange: str) -> None:
    written = letter(in_reply_to="<a@b>", references=(strange, f"<{strange}>", "<c@d>"))

    parsed = email.message_from_bytes(written.sent)

    assert {name.lower() for name in parsed} <= NAMES
    assert parsed["References"].split()[-2:] == ["<c@d>", "<a@b>"]
    assert all(word.startswith("<") and word.endswith(">") for word in parsed["References"].split())


def test_a_long_thread_keeps_its_beginning_and_its_end() -> None:
    ids = tuple(f"<{number}{'x' * 200}@example.org>" for number in range(100))

    parsed = email.message_from_bytes(letter(in_reply_to="<last@x>", references=ids).sent)

    found = parsed["References"].split()
    assert (len(found), found[0], found[-1]) == (MAX_REFERENCES, ids[0], "<last@x>")
    assert found[-2] == ids[-1]


def test_two_hundred_long_addresses_stay_addresses() -> None:
    to = tuple(f"{'b' * 60}{number}@{'d' * 60}.example.org" for number in range(200))

    written = letter(to=to)

    assert written.recipients == to
    assert email.message_from_bytes(written.sent)["To"].replace("\r\n", "").split(", ") == list(to)


@pytest.mark.parametrize(
    "address", ["bob(x)@example.org", "bob@[127.0.0.1]", "b\\ob@example.org", "bob\x00@example.org", "bob@" + "ü" * 80]
)
def test_an_address_that_would_mean_more_than_it_looks_is_refused(address: str) -> None:
    with pytest.raises(ToolError, match="is no address that a mail can be sent to"):
        letter(to=(address,))


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("a@straße.de", "a@xn--strae-oqa.de"),
        ("a@Bücher.example", "a@xn--bcher-kva.example"),
        ("A@Example.ORG", "A@Example.ORG"),
        ("a@βόλος.example", "a@xn--nxasmm1c.example"),
    ],
)
def test_a_domain_is_the_one_that_was_meant(address: str, written: str) -> None:
    """As browsers write it: by the older rules `straße.de` would be `strasse.de`, which is another's."""
    one = letter(to=(address,))

    assert (one.recipients, email.message_from_bytes(one.sent)["To"]) == ((written,), written)


def test_who_is_named_twice_gets_one_mail() -> None:
    assert letter(cc=("bob@example.org",), bcc=("bob@example.org",)).recipients == ("bob@example.org",)


@pytest.mark.threat("T20")
@pytest.mark.parametrize(
    "head",
    [
        "To: a@example.org\nno header at all\nBcc: hidden@example.org\nSubject: x",
        "To: a@example.org\nBcc : hidden@example.org\nSubject: x",
        "To: " + ",\n ".join(f"p{number}@example.org" for number in range(300)),
        "\n".join(f"To: p{number}@example.org" for number in range(8)),
    ],
    ids=["after a broken line", "a space before the colon", "too many to be shown", "headers too often"],
)
def test_a_draft_goes_to_nobody_whom_people_were_not_shown(head: str) -> None:
    raw = f"{head}\n\nhello".encode()

    with pytest.raises(ToolError, match="people are shown"):
        letter_of_draft(raw, draft_of("d", raw, digest=""), message_id="<a@b>", sender="me@example.org", at=AT)


@pytest.mark.parametrize(
    ("to", "recipients"),
    [
        ('"Doe, John" <a@example.org>, =?utf-8?q?J=C3=BCrgen?= <b@example.org>', ("a@example.org", "b@example.org")),
        ("Friends: a@example.org, b@example.org;", ("a@example.org", "b@example.org")),
        ("a@example.org (who is b@example.org), A@Example.ORG", ("a@example.org", "A@Example.ORG")),
        ("Bücher <info@bücher.example>", ("info@xn--bcher-kva.example",)),
    ],
)
def test_a_draft_goes_to_all_whom_people_were_shown(to: str, recipients: tuple[str, ...]) -> None:
    raw = f"To: {to}\nSubject: x\n\nhello".encode()

    letter = letter_of_draft(raw, draft_of("d", raw, digest=""), message_id="<a@b>", sender="me@example.org", at=AT)

    assert letter.recipients == recipients
