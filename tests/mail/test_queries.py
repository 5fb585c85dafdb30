"""Gmail's search syntax in IMAP's words; nothing that is searched for becomes a command."""

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.mail.queries import search_line, terms_of

TODAY = date(2026, 11, 22)


def line(query: str, *, literals: bool = True) -> bytes:
    return search_line(terms_of(query, today=TODAY, own="alice@example.org"), literals=literals)


@pytest.mark.spec("S178")
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", b"ALL"),
        ("from:bob@example.org to:me", b'FROM "bob@example.org" TO "alice@example.org"'),
        ("-from:Me subject:me", b'NOT FROM "alice@example.org" SUBJECT "me"'),
        ("subject:(quarterly report)", b'SUBJECT "quarterly" SUBJECT "report"'),
        ('subject:"quarterly report"', b'SUBJECT "quarterly report"'),
        ("newer_than:7d older_than:1y", b"SINCE 15-Nov-2026 BEFORE 22-Nov-2025"),
        ("after:2026/01/31 before:2026-02-01", b"SINCE 31-Jan-2026 BEFORE 1-Feb-2026"),
        ("is:unread is:starred is:snoozed", b"UNSEEN FLAGGED"),
        ("has:attachment larger:5M", b'HEADER "Content-Type" "multipart/mixed" LARGER 5000000'),
        ('"exact words" plain', b'TEXT "exact words" TEXT "plain"'),
        ("-from:bob", b'NOT FROM "bob"'),
        ("-subject:(a b)", b'NOT (SUBJECT "a" SUBJECT "b")'),
        ("a OR from:b OR c", b'OR OR TEXT "a" FROM "b" TEXT "c"'),
        ("OR a", b'TEXT "a"'),
        ("a AND from:b", b'TEXT "a" FROM "b"'),
        ("from:(bob OR carol)", b'OR FROM "bob" FROM "carol"'),
        ("(from:bob OR to:bob) subject:report", b'OR FROM "bob" TO "bob" SUBJECT "report"'),
        ("{from:bob from:carol subject:(a b)}", b'OR OR FROM "bob" FROM "carol" (SUBJECT "a" SUBJECT "b")'),
        ("-(from:bob is:unread)", b'NOT (FROM "bob" UNSEEN)'),
        ("subject:(-draft (report OR {plan budget}))",
         b'NOT SUBJECT "draft" OR SUBJECT "report" OR SUBJECT "plan" SUBJECT "budget"'),
        ("label:work OR from:bob invoice", b'TEXT "invoice"'),  # or else what has the label would not be found
        ("from: bob subject: plan", b'FROM "bob" SUBJECT "plan"'),
        ("((a) b)) c", b'TEXT "a" TEXT "b" TEXT "c"'),
        ("( from: )", b"ALL"),
        ("in:inbox label:work invoice", b'TEXT "invoice"'),
        ("rfc822msgid:<a@b>", b'HEADER "Message-ID" "<a@b>"'),
        ("https://example.org", b'TEXT "https://example.org"'),
        ("after:yesterday newer_than:99999y larger:much", b"ALL"),
        ("für", b"CHARSET UTF-8 TEXT {4+}\r\nf\xc3\xbcr"),
    ],
)  # fmt: skip
def test_gmails_words_are_said_in_imaps(query: str, wanted: bytes) -> None:
    assert line(query) == wanted


def test_a_server_without_literals_gets_letters_in_quotes() -> None:
    assert line("für", literals=False) == 'CHARSET UTF-8 TEXT "für"'.encode()


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from('ab "()\\{}+\r\n\x00ü:-*%'), max_size=60))
def test_no_query_ends_its_quotes_or_its_line(query: str) -> None:
    said = line(query, literals=False)

    assert b"\r" not in said
    assert b"\n" not in said
    bare = said.replace(rb"\\", b"").replace(rb"\"", b"")
    assert bare.count(b'"') % 2 == 0
    outside = b"".join(bare.split(b'"')[::2])
    assert not set(outside) & set(b"\\{}*%+\xc3")
