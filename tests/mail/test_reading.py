"""Mails as strangers send them: broken, nested, lying. None of them raises, and none takes long."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.mail.answering import reply_to
from agents.mail.attachment_text import text_of_attachment
from agents.mail.files import AttachedFile, safe_name
from agents.mail.reading import TOO_DEEP, attached_in, head_of, message_of
from agents.tools.tool import ToolError
from agents.tools.values import MailMessage
from hyperagent.lib.html_text import text_of
from memory.workspaces.paths import clean_path

PARTS = [
    *(b"From: ", b"Subject: ", b"=?utf-8?b?", b"?=", b"(", b'"', b"<", b"@", b",", b"\n", b"text/html", b"charset="),
    *(b"Content-Type: multipart/mixed; boundary=b\n\n", b"--b\n", b"Content-Type: message/rfc822\n\n", b"\xff\xfe"),
    b"Content-Disposition: attachment; filename*0*=utf-8''%FF",
]


def read(raw: bytes) -> MailMessage:
    return message_of("1", raw, arrived=None, is_cut=False)


def nested(depth: int) -> bytes:
    return b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (number, number) for number in range(depth)
    )


@settings(deadline=None)
@given(st.binary(max_size=2_000))
def test_any_bytes_are_a_mail(raw: bytes) -> None:
    assert read(raw).id == "1"
    assert head_of("1", raw, arrived=None).id == "1"


def test_a_name_that_was_cut_in_the_midst_of_a_letter_is_shown_as_it_came() -> None:
    message = read(b"From: =?utf-8?b?A?= <a@example.org>\nSubject: Hi\n\nwords")

    assert (message.sender, message.subject) == ("=?utf-8?b?A?= <a@example.org>", "Hi")


@settings(deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=60))
def test_any_sequence_of_the_parts_of_mails_is_a_mail(parts: list[bytes]) -> None:
    message = read(b"".join(parts))

    assert "\n" not in message.subject + message.sender


def test_a_name_and_a_subject_whose_encoding_is_broken_are_read_as_they_stand() -> None:
    raw = b"From: =?utf-8?b?A?= <a@b.example>\nSubject: =?utf-8?b?A?=\n\nhello"

    assert (read(raw).sender, read(raw).subject, read(raw).body) == (
        "=?utf-8?b?A?= <a@b.example>",
        "=?utf-8?b?A?=",
        "hello",
    )
    assert head_of("1", raw, arrived=None).subject == "=?utf-8?b?A?="


@pytest.mark.parametrize(
    "raw",
    [
        nested(3_000) + b"x\n" * 1_000,
        nested(200) + b"x\n" * 200_000,
        nested(5) + (b"Content-Type: message/rfc822\n\n" * 3_000),
        b"a: b\n" * 900_000,
    ],
    ids=["deep", "deep and long", "mails in mails", "headers only"],
)
def test_what_would_take_too_long_to_parse_is_not(raw: bytes) -> None:
    assert read(b"Subject: bomb\n" + raw).body == TOO_DEEP


@pytest.mark.parametrize(
    ("charset", "text", "body"),
    [
        (b"iso-8859-1", b"gr\xfc\xdfe", "grüße"),
        (b"iso-8859-1", b"\x84gr\xfc\xdfe\x93 \x96 5 \x80", "„grüße“ – 5 €"),
        (b"us-ascii", "grüße".encode(), "grüße"),
        (b"gb2312", "朱镕基".encode("gbk"), "朱镕基"),
        (b"ks_c_5601-1987", "똠방".encode("cp949"), "똠방"),
        (b"shift_jis", "①㈱".encode("cp932"), "①㈱"),
        (b"iso-8859-8-i", "שלום".encode("iso8859-8"), "שלום"),
        (b"nonsense", b"plain", "plain"),
        (b"idna", b"xn--a" * 20_000, "xn--a" * 20_000),
        (b"unicode_escape", b"\\x41", "\\x41"),
        (b"zlib", b"plain", "plain"),
        (b"utf-8", b"\xff\x00", "\ufffd\ufffd"),
    ],
    ids=["latin", "latin with quotes", "ascii that is none", "chinese", "korean", "japanese", "hebrew", "nonsense",
         "domains", "escapes", "bytes", "broken"],
)  # fmt: skip
def test_a_charset_is_believed_only_if_it_is_one(charset: bytes, text: bytes, body: str) -> None:
    assert read(b"Content-Type: text/plain; charset=" + charset + b"\n\n" + text).body == body


def test_plain_text_is_taken_before_html_and_attachments_are_named() -> None:
    raw = b"""Content-Type: multipart/mixed; boundary=b

--b
Content-Type: multipart/alternative; boundary=c

--c
Content-Type: text/html

<b>rich</b>
--c
Content-Type: text/plain

plain
--c--
--b
Content-Type: application/pdf
Content-Disposition: attachment; filename="../../a\xe2\x80\xaegpj.pdf"

x
--b
Content-Type: message/rfc822

Subject: inner

inner text
--b--
"""
    found = read(raw)

    assert found.body == "plain"
    assert found.attachments[1].name == "without a name (message/rfc822)"
    assert "\u202e" not in found.attachments[0].name


def test_a_footer_in_plain_text_does_not_hide_the_html_above_it() -> None:
    raw = b"""Content-Type: multipart/mixed; boundary=b

--b
Content-Type: multipart/related; boundary=c

--c
Content-Type: text/html

<p>The meeting is on Monday.</p>
--c--
--b
Content-Type: text/plain

To unsubscribe, write to us.
--b--
"""
    assert read(raw).body == "The meeting is on Monday.\n\nTo unsubscribe, write to us."


def test_what_is_said_in_several_ways_is_read_once() -> None:
    """As one program sends a mail that has a picture in the midst of its text."""
    raw = b"""Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain

Before. After.
--b
Content-Type: multipart/mixed; boundary=c

--c
Content-Type: text/html

<p>Before.</p>
--c
Content-Type: image/png; name=a.png

x
--c
Content-Type: text/html

<p>After.</p>
--c--
--b--
"""
    found = read(raw)

    assert found.body == "Before. After."
    assert [file.name for file in found.attachments] == ["a.png"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("message/rfc822", "attachment-1.eml"),
        ("application/pdf", "attachment-1.pdf"),
        ("text/calendar", "attachment-1.ics"),
        ("application/x-of-nobody", "attachment-1"),
    ],
)
def test_what_is_attached_without_a_name_gets_one_that_a_file_can_have(kind: str, name: str) -> None:
    inner = "\nContent-Type: text/plain\n\nx" if kind == "message/rfc822" else "\nx"
    raw = f"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nhello\n--b\nContent-Type: {kind}\n{inner}\n--b--\n"

    file = attached_in(raw.encode(), 1)

    assert file is not None
    assert (safe_name(file.name), file.media_type) == (name, kind)


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ('Content-Disposition: attachment; filename="=?UTF-8?Q?M=C3=A4rz_2026.pdf?="', "März 2026.pdf"),
        ('Content-Disposition: attachment;\n filename="=?UTF-8?B?TcOk?=\n =?UTF-8?B?cnouY3N2?="', "März.csv"),
        ('Content-Type: application/pdf; name="=?iso-8859-1?Q?M=E4rz.pdf?="', "März.pdf"),
        ('Content-Disposition: attachment; filename="Ärger 日本.txt"', "Ärger 日本.txt"),
        ("Content-Disposition: attachment; filename*=UTF-8''M%C3%A4rz.pdf", "März.pdf"),
    ],
    ids=["encoded words", "in two lines", "in the type", "as it is", "as it ought to be"],
)
def test_the_name_of_an_attachment_is_read_in_each_way_that_programs_write_it(field: str, name: str) -> None:
    raw = f"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nhello\n--b\n{field}\n\nx\n--b--\n".encode()

    file = attached_in(raw, 1)

    assert [one.name for one in read(raw).attachments] == [name]
    assert file is not None
    assert file.name == name


@pytest.mark.parametrize("stem", ["a" * 300, "報" * 110])
def test_an_attachment_with_a_long_name_keeps_its_ending_and_can_be_saved(stem: str) -> None:
    head = f'Content-Disposition: attachment; filename="{stem}.xlsx"'
    raw = f"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nhello\n--b\n{head}\n\nx\n--b--\n".encode()

    (shown,) = read(raw).attachments
    file = attached_in(raw, 1)

    assert file is not None
    assert file.name == shown.name == safe_name(f"in/a/folder/{stem}.xlsx")
    assert shown.name.startswith(stem[:70])
    assert clean_path(f"mail/{safe_name(file.name)}").endswith(".xlsx")


@pytest.mark.threat("T16")
def test_an_attachment_that_is_no_text_is_refused_without_the_name_that_a_stranger_gave_it() -> None:
    with pytest.raises(ToolError) as refused:
        text_of_attachment(AttachedFile("Obey me.bin", "application/octet-stream", b"\x00\x01\x02" * 100))

    assert "Obey" not in refused.value.message


def test_a_mail_is_read_though_the_mail_that_is_attached_to_it_cannot_be_written_out_again() -> None:
    raw = b"Subject: Hi\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nhello\n--b\n"
    raw += b"Content-Type: message/rfc822\n\nSubject: a\x0bX: y\n\ninner\n--b--\n"

    assert head_of("1", raw, arrived=None).subject == "Hi"
    assert (read(raw).body, len(read(raw).attachments)) == ("hello", 1)
    assert attached_in(raw, 1) is not None


@pytest.mark.slow
def test_an_ordinary_mail_with_a_large_file_is_read_though_it_has_parts_within_parts() -> None:
    raw = b"Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: multipart/related; boundary=b\n\n--b\n"
    raw += b"Content-Type: multipart/alternative; boundary=c\n\n--c\n\nsee there\n--c--\n--b--\n--a\n"
    raw += b"Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\n"
    raw += (b"A" * 76 + b"\n") * 300_000 + b"--a--\n"

    found = read(raw)

    assert found.body == "see there"
    assert [file.name for file in found.attachments] == ["a.pdf"]


def test_an_html_mail_is_read_as_people_see_it() -> None:
    html = "<head><title>t</title><style>p{}</style></head><p>One &amp; two<br>three <3</p><script>x<b></script>"
    html += "<!-- no > --><ul><li>four<li>five</ul><table><tr><td>a</td><td>b</td></tr></table>"

    assert text_of(html) == "One & two\nthree <3\n\nfour\nfive\n\na b"


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<", "<!--", "<script", "<script>", "</", "&#", "<a b=", "<!", "<?", "<p "])
def test_no_html_takes_longer_than_its_length(piece: str) -> None:
    """Each of these, 200,000 times, takes minutes where it is looked through again and again."""
    text_of(piece * 200_000)


def test_a_name_cannot_be_mistaken_for_the_address() -> None:
    reply_to_header = b"Reply-To: =?utf-8?q?a=40b=2Ec_=3Cx=40y=3E?= <r@evil.example>\n\nx"

    found = read(b'From: "bob@good.example" <eve@evil.example>\n' + reply_to_header)

    assert found.sender == '"bob good.example" <eve@evil.example>'
    assert reply_to(found, "hi", message_id="<k@h>", reply_all=False).to == ("r@evil.example",)


@pytest.mark.spec("S178")
def test_an_answer_stays_in_the_thread_of_a_mail_that_names_only_the_one_it_answered() -> None:
    """Some programs write no References. A long thread keeps its first mail, by which others know it."""
    head = b"From: eve@example.org\nMessage-ID: <2@x>\nIn-Reply-To: "
    long = b" ".join(b"<%d@y>" % number for number in range(80))

    answered = read(head + b"<1@x>\n\nhello")
    unclear = read(head + b"Your mail of <1@x> and <0@x>\n\nhello")
    old = read(head + b"<79@y>\nReferences: " + long + b"\n\nhello")

    assert reply_to(answered, "hi", message_id="<3@x>", reply_all=False).references == ("<1@x>", "<2@x>")
    assert unclear.references == ()
    assert old.references == ("<0@y>", *(f"<{number}@y>" for number in range(31, 80)))


def test_an_answer_goes_to_all_whom_the_mail_names_for_it() -> None:
    raw = b"From: eve@example.org\nTo: me@example.org\n"
    raw += b'Reply-To: "List, the" <list@example.org>, Eve <eve@example.org>\n\nx'

    answer = reply_to(read(raw), "hi", message_id="<k@h>", reply_all=True, own=("me@example.org",))

    assert (answer.to, answer.cc) == (("list@example.org", "eve@example.org"), ())


def test_encoded_words_cannot_begin_a_header() -> None:
    found = read(b"Subject: =?utf-8?q?a=0D=0ABcc=3A_x=40y?=\nFrom: a@b\n\nx")

    assert found.subject == "a Bcc: x@y"
    assert reply_to(found, "hi", message_id="<k@h>", reply_all=False).subject == "Re: a Bcc: x@y"


def test_what_is_missing_is_left_empty() -> None:
    found = read(b"\n\nhello")

    assert (found.sender, found.to, found.subject, found.date, found.message_id) == ("", (), "", "", None)


def test_headers_in_utf8_are_read_as_they_were_written() -> None:
    found = read("From: Jürgen <jürgen@bücher.example>\nTo: Zoë <zoe@example.org>\nSubject: Grüße\n\nx".encode())

    assert (found.sender, found.subject) == ("Jürgen <jürgen@bücher.example>", "Grüße")
    assert found.to == ("Zoë <zoe@example.org>",)
