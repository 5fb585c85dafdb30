"""The pure parts: where a webhook may go, how it is signed, how text is cut, when it is tried again."""

import base64

import pytest

from hyperagent.lib.outside.addresses import is_public, url_fault
from hyperagent.lib.signatures import new_secret, signed_headers
from hyperagent.notices.kinds import DELIVERY_PAUSES_S, pause_after
from hyperagent.notices.words import one_line, short_values


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.255.0.3", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "239.255.255.250", "240.0.0.1",
        "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1",
        "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254",
        "fec0::1", "ff02::1", "2001:db8::1", "100::1", "::ffff:0:127.0.0.1", "::ffff:0:a9fe:a9fe", "200::1", "4000::1",
        "not an address", "",
    ],
)  # fmt: skip
def test_addresses_of_our_own_networks_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/x", "file:///etc/passwd", "gopher://example.org", "example.org/hooks", "", "https://",
        "http://", "https://user:secret@example.org/", "https://user@example.org/", "https://example.org:99999/",
        "https://exam ple.org/", "https://example.org\\@127.0.0.1/", "https://[::1/", "http://example.org/\n",
        "https://example.org/" + "x" * 2000, "http://127.0.0.1/", "http://[::1]:9000/", "http://169.254.169.254/latest",
        "http://localhost:8000/", "http://LOCALHOST./", "http://db.localhost/", "http://[::ffff:127.0.0.1]/", "http://127.1/",
        "http://2130706433/", "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://127.0.0.1./",
    ],
)  # fmt: skip
def test_what_is_no_address_for_a_webhook_is_refused_with_a_sentence(url: str) -> None:
    assert (url_fault(url, allow_private=False) or "").endswith(".")


@pytest.mark.parametrize(
    "url", ["https://example.org/hooks?key=1", "http://example.org:8443/x", "https://bücher.example/"]
)
def test_any_port_and_name_of_the_internet_is_taken(url: str) -> None:
    assert url_fault(url, allow_private=False) is None


def test_private_addresses_are_taken_where_the_setting_says_so() -> None:
    assert url_fault("http://127.0.0.1:9000/", allow_private=True) is None
    assert url_fault("http://user:secret@127.0.0.1/", allow_private=True)


def test_the_signature_is_that_of_the_published_example() -> None:
    """From the convention's reference implementation."""
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        event_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp_s=1614265330,
        body=b'{"test": 2432232314}',
    )

    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_secret_is_random_and_long() -> None:
    secret, other = new_secret(), new_secret()

    assert secret != other
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32


def test_the_pauses_grow_and_end() -> None:
    pauses = [pause_after(tries, DELIVERY_PAUSES_S) for tries in range(1, 9)]

    assert pauses == [5, 30, 120, 600, 3600, 21600, 86400, None]


def test_a_title_is_one_short_line_without_characters_that_act() -> None:
    assert one_line("Send\r\nBcc: all@example.org\x00\u2028now\u202e") == "Send Bcc: all@example.org\ufffd now"
    assert one_line("x" * 500) == "x" * 119 + "…"
    assert one_line(" \n\t ") == ""


def test_strings_of_a_payload_are_cut_however_deep() -> None:
    assert short_values({"a": [{"b": "x" * 1000}], "c": 1, "d": None}) == {
        "a": [{"b": "x" * 299 + "…"}],
        "c": 1,
        "d": None,
    }
