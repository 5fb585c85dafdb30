"""Personal data in answers: what it is known by, in the spellings of many countries, and what only looks like it."""

import json
import os
from pathlib import Path

import pytest

from agents.guardrails.ibans import LENGTHS, is_iban
from agents.guardrails.scanner import Certainty, Place, Subject
from agents.guardrails.scanners.pii import SCANNER, passes_luhn
from agents.guardrails.scanners.secrets import SCANNER as SECRETS

COLLECTION = Path(os.environ.get("BENCH_DATA", "/nowhere")) / "security" / "presidio_synthetic_pii" / "data.jsonl"
KINDS = {
    "credit_card_number": "card",
    "phone_number": "phone",
    "email": "email",
    "iban": "iban",
    "ip_address": "ip",
    "ssn": "ssn",
}


def found(text: str) -> list[tuple[str, str]]:
    return [(one.kind, text[one.start : one.end]) for one in SCANNER.scan(text, Subject())]


@pytest.mark.spec("S206")
@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("email", "Write to maria.lopez@firma.es, please.", "maria.lopez@firma.es"),
        ("email", "<mailto:j.o'neil+news@post.co.uk>", "j.o'neil+news@post.co.uk"),
        ("email", "Schreib an jörg.müller@büro-süd.de!", "jörg.müller@büro-süd.de"),
        ("email", "[Anna](https://a.io/?to=anna@web.de&x=1)", "anna@web.de"),
        ("card", "It is 4916 3385 0608 2832.", "4916 3385 0608 2832"),
        ("card", "cc=4916338506082832;", "4916338506082832"),
        ("card", "Amex 3782-822463-10005", "3782-822463-10005"),
        ("card", "2720 9922 9453 5417", "2720 9922 9453 5417"),
        ("card", "Pay with 6011000990139424 then", "6011000990139424"),
        ("card", "| 4916.3385.0608.2832 |", "4916.3385.0608.2832"),
        ("card", "4916.3385.0608.2832.", "4916.3385.0608.2832"),
        ("iban", "IBAN: DE89 3704 0044 0532 0130 00.", "DE89 3704 0044 0532 0130 00"),
        ("iban", "an gb82west12345698765432 bitte", "gb82west12345698765432"),
        ("iban", "MT84 MALT 0110 0001 2345 MTLC AST0 01S", "MT84 MALT 0110 0001 2345 MTLC AST0 01S"),
        ("iban", "auf NO93 8601 1117 947 in Oslo", "NO93 8601 1117 947"),
        ("ssn", "SSN 536-22-8145", "536-22-8145"),
        ("ssn", "his social security number is 536 22 8145", "536 22 8145"),
        ("ssn", "He gave 536 22 8145 there.", "536 22 8145"),
        ("ssn", "| name | 536 22 8145 |", "536 22 8145"),
        ("ssn", "(536\u00a022\u00a08145)", "536\u00a022\u00a08145"),
        ("ip", "The visitor came from 146.195.170.188.", "146.195.170.188"),
        ("ip", "http://50.131.80.5:8080/x", "50.131.80.5"),
        ("ip", "from 2a02:1810:4d34:9600:84b2:5f3a:1c11:9d2e today", "2a02:1810:4d34:9600:84b2:5f3a:1c11:9d2e"),
        ("phone", "+49 30 901820", "+49 30 901820"),
        ("phone", "+49 (0)30 / 90 18 20-17", "+49 (0)30 / 90 18 20-17"),
        ("phone", "tel:+4917663212345", "+4917663212345"),
        ("phone", "0049 176 6321 2345", "0049 176 6321 2345"),
        ("phone", "+1 (415) 867-5309", "+1 (415) 867-5309"),
        ("phone", "415-867-5309", "415-867-5309"),
        ("phone", "(415) 867-5309", "(415) 867-5309"),
        ("phone", "+33 6 12 34 56 78", "+33 6 12 34 56 78"),
        ("phone", "06 12 34 56 79", "06 12 34 56 79"),
        ("phone", "01.44.27.43.19", "01.44.27.43.19"),
        ("phone", "020 7123 4567", "020 7123 4567"),
        ("phone", "(07) 5337 1486", "(07) 5337 1486"),
        ("phone", "0372-5610005", "0372-5610005"),
        ("phone", "+420\u00a0605\u00a0123\u00a0457", "+420\u00a0605\u00a0123\u00a0457"),
        ("phone", "555\u2011867\u20115309", "555\u2011867\u20115309"),
        ("phone", "Call me at 24 629059 tonight", "24 629059"),
        ("phone", "Tel.: 9124 4004", "9124 4004"),
        ("phone", "Please contact Ms. Gray at 514 1234, not me", "514 1234"),
        ("phone", "Change my number to 412 34 567", "412 34 567"),
        ("phone", "Mein Handy: 51-23-45-67", "51-23-45-67"),
        ("phone", "móvil 612 345 678", "612 345 678"),
        ("phone", "Call me at 536 22 8145", "536 22 8145"),
        ("phone", "089 12 3456 in München", "089 12 3456"),
        ("phone", "444 7846 (mobile)", "444 7846"),
        ("phone", "Телефон: 495 123-45-67", "495 123-45-67"),
    ],
)
def test_a_value_is_known_for_what_it_is(kind: str, text: str, value: str) -> None:
    assert found(text) == [(kind, value)]


HARMLESS = (
    "Rows are 12 536 22 8145 and 536 22 8145 12; it cost $ 536 22 8145, or 536 22 8145 €.",
    "Order no. 536 22 8145, Artikelnummer: 536 22 8145, customer 536 22 8145.",
    "536 22 Uppsala 8145; in 536 22 2019; 536  22  8145; 000 12 3456.",
    "Version 4916.3385.0608.2833 and 4916.3385.0608.2832.1 are no cards.",
    "Revenue rose from 1 299 000 to 12 345 678 euros, by 12.5 % in 2023-2024.",
    "It costs $1,299.99, or 1.299,99 € with 19 % VAT, or 12 000 000 JPY.",
    "+10 000 000 users joined, +20.000.000 more are expected, and +33 500 000 later.",
    "Order 112-7319384-8829461 was shipped on 12/05/2024 at 14:30:05.",
    "Order no. 20240517001234, invoice 2024-000123-7, customer 100200300.",
    "ISBN 978-3-16-148410-0, ISBN-10 0-306-40615-2, ISSN 2049-3630, EAN 4006381333931.",
    "DOI 10.1000/182, arXiv 2403.12345, RFC 9110, ISO 27001:2022, 21 CFR 820.30.",
    "Berlin lies at 52.520008, 13.404954; Sydney at -33.868820, 151.209290.",
    "Python 3.11.9, numpy==1.26.4, Chrome/120.0.6099.109, v1.2.3.4, Windows 10.0.19041.1.",
    "Call the function 3 times, at most 200000 iterations; call 1000000 is the last.",
    "Text 1 shows figures 12 to 15; message 42 of 100; reach level 12 in 2026.",
    "The years 1990 1991 1992 and 2019 2020, from 2024-01-31 to 2024-02-29.",
    "Fibonacci: 1 1 2 3 5 8 13 21 34 55 89 144 233 377 610 987 1597 2584 4181 6765",
    "01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16",
    "| 2021 | 2022 | 2023 |\n| --- | --- | --- |\n| 1 200 | 1 350 | 1 420 |",
    "| 12345678 | 23456789 | 34567890 |",
    "SHA-1 da39a3ee5e6b4b0d3255bfef95601890afd80709, commit 9389ecf, uuid 550e8400-e29b-41d4-a716-446655440000.",
    "MAC 2c:54:91:88:c9:e3; #ff8800; 0x7fff5fbff8c0; std::vector<int>::iterator; face::bad; 12:30:45.",
    "Listen on 127.0.0.1:8000, 0.0.0.0, 10.0.0.5, 192.168.1.20/24, 172.16.0.1, ::1 and fe80::1.",
    "Documentation has 192.0.2.44, 198.51.100.7, 203.0.113.9 and 2001:db8::42; ask 8.8.8.8 or 1.1.1.1.",
    "The network 52.94.76.0/22 belongs to it; the mask is 255.255.255.0.",
    "Section 3.2.1.4 Scope; see 1.2.3.4 and chapter 10.11.12.13.",
    "Write to jane@example.com, admin@example.org, you@your-company.com or user@domain.com.",
    "git clone git@github.com:acme/tool.git && ssh ubuntu@ec2-3-120-5-7.eu-west-1.compute.amazonaws.com",
    "scp file.txt root@build.acme.io:/tmp; rsync -a . deploy@web.acme.io:~/x",
    "@property\ndef x(self): return self.W @ x.T + a@b.dot(c)",
    "npm install react@18.2.0 @types/node@20.1.0; uses: actions/checkout@v4; icon@2x.png",
    "postgres://user:password@localhost:5432/db and redis://:password@redis.example.com:6379/0",
    "Test payments with 4242 4242 4242 4242; numbers such as 1234 5678 9012 3456 fail the check.",
    "The id 1234567890123456 and the timestamp 1700000000000 are no cards; nor is 0000 0000 0000 0000.",
    "https://social.site/p/status/4916338506082832 is an address of a post.",
    "ACCT-4916338506082832-X is a key of a table, x_4916338506082832 a name.",
    "Numbers of films: (212) 555-0123, 555-0199, +1 415 555 0101, 020 7946 0958, 07700 900123.",
    "A part 123-45-67890, a SKU 12-345-678, a size 10-20-30, a score 21-14-07.",
    "000-12-3456, 666-12-3456 and 912-34-5678 are none; nor is 536-00-8145 or 536-22-0000.",
    "Zip 12345-6789, 80331 München, SW1A 1AA, 1010 AB Amsterdam, 41-500 Chorzów.",
    "0100 0200 0300 0400; we reach a peak at 12; contact us on 3 May 2026 at 10.",
    "Room 0815, gate 12-34, flight LH 1234, bus 100-200, article 1-2-3.",
    "DE89 3704 0044 0532 0130 01 has a wrong checksum; GB20 is no account; AB12 CD34 EF56.",
    "HB20 HATCH 2024, MP3 320, MK19 GUN, AT20 2025 and DE43 are names.",
    "A 4-tuple (1, 2, 3, 4); f(12, 345, 6789); x[10:20:30]; range(0, 1000000, 7).",
    "for i in range(100000): total += i * 3.14159265358979",
    "2**64 = 18446744073709551616; 6.02214076e23; 1/137.035999; 299 792 458 m/s; 299792458.",
    "From 09:00-17:00 and 9-12.30, Mon-Fri; 24/7; 1/2/3; 50/50; 3-5 days; 10–15 %.",
    "It was 12.05.2024, 12-05-2024, 5/12/24, 2024/05/12, 20240512, 12 05 2024 or 12. Mai 2024.",
    "Population: 8 336 817 (2022), 67.39 million, 1.4 billion, 331 002 651.",
    "Temperature -40.5 to 120.75, pressure 101325 Pa, 1013.25 hPa, 0.000123.",
    "call me maybe; text me the 3 options; reach out to 20 people; ring 1 of 3; phone costs 129000 yen.",
    "Bug #1234567, PR 98765, ticket ABC-123456, case 2024/123456, CVE-2024-123456, line 123456.",
    "The phone has 5000 mAh, 128 GB and 6.1 inches; the fax came in 1843; my mobile is 3 years old.",
    "License plate M-AB 1234, VIN 1HGCM82633A004352, IMEI starts with 35, serial SN-00012345-AB.",
    "Binary 01101001 01101110; octal 0755 0644; hex 48 65 6c 6c 6f 20 57 6f 72 6c 64.",
    "ISIN US0378331005, CUSIP 037833100, LEI 5493001KJTIIGC8Y1R12, SWIFT DEUTDEFF500, BLZ 10070000.",
    "curl -H 'Accept: application/json' http://localhost:8000/api/v1/executions?after=1234567",
    "p = 0.0123, t(45) = 2.345, 95 % CI [1.234, 5.678], n = 123456, r = .98",
    "rgb(255, 128, 0), 1920x1080, 16:9, 4-4-2, 3.5 mm, A4 210 × 297, 0.5-1.5 kg, M8 x 1.25",
    "const API_KEY = process.env.API_KEY; token = os.environ['TOKEN']; secret = get_secret('db_password_1')",
    "Set OPENAI_API_KEY=sk-your-key-here and PASSWORD=changeme123; see sk-learn and task-list-view-component.",
    "password: hunter2, token: <your-token>, api_key = 'xxxxxxxxxxxxxxxxxxxx', secret: ${DB_SECRET}",
    "primary_key=customer_id_2024, foreign_key: order_item_id, key: value, keyword: test-12345-abc",
    "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY are of a manual.",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQsw\n-----END CERTIFICATE-----",
    "The header is -----BEGIN PRIVATE KEY----- and the end -----END PRIVATE KEY-----, with base64 between.",
    "Das Produkt 4711 kostet 12,50 €; Kto. 0000123456; Az. 12 O 345/23; § 312g BGB; Art. 6 Abs. 1.",
    "電話は市外局番から。価格は12,345円です。2024年5月12日、版1.2.3。",
)


@pytest.mark.spec("S206")
@pytest.mark.parametrize("line", HARMLESS)
def test_ordinary_numbers_addresses_and_programs_stay_as_they_are(line: str) -> None:
    secrets = [line[one.start : one.end] for one in SECRETS.scan(line, Subject())]

    assert (found(line), secrets) == ([], [])


def test_what_is_found_is_certain_and_says_what_may_stand_in_its_place() -> None:
    (one,) = SCANNER.scan("Ask maria.lopez@firma.es", Subject())

    assert (one.certainty, one.replacement) == (Certainty.CERTAIN, "[email removed]")
    assert "maria" not in one.reason
    assert SCANNER.places == {Place.OUTPUT}


def test_of_every_country_an_account_number_with_a_right_checksum_is_found_and_one_digit_off_is_not() -> None:
    for country, length in LENGTHS.items():
        account = _with_checksum(country, "7" * (length - 4))
        wrong = account[:-1] + ("1" if account[-1] != "1" else "2")
        grouped = " ".join(account[at : at + 4] for at in range(0, length, 4))

        assert found(f"to {account} now") == [("iban", account)]
        assert found(f"to {grouped} now") == [("iban", grouped)]
        assert not is_iban(wrong)


def _with_checksum(country: str, account: str) -> str:
    remainder = int("".join(str(int(one, 36)) for one in f"{account}{country}00")) % 97
    return f"{country}{98 - remainder:02}{account}"


def test_values_beside_each_other_are_found_each() -> None:
    card, phone, dashed = "4916 3385 0608 2832", "(07) 5337 1486", "415-867-5309"

    assert found(f"{card} {phone}") == [("card", card), ("phone", phone)]
    assert found(f"{phone} {phone}") == [("phone", phone)] * 2
    assert found(f"{dashed} {dashed} / {dashed}") == [("phone", dashed)] * 3


def test_luhn_holds_for_cards_and_not_for_their_neighbours() -> None:
    assert passes_luhn("4916338506082832")
    assert not any(passes_luhn(f"491633850608283{digit}") for digit in "013456789")


@pytest.mark.spec("S206", "B28")
@pytest.mark.skipif(not COLLECTION.is_file(), reason="BENCH_DATA has no security/presidio_synthetic_pii")
def test_of_the_collection_nine_in_ten_are_found_and_nine_in_ten_findings_are_right() -> None:
    right = missed = wrong = 0
    for line in COLLECTION.read_text().splitlines():
        row = json.loads(line)
        wanted = sorted((KINDS[one["type"]], one["value"]) for one in row["spans"] if one["type"] in KINDS)
        got = sorted(found(row["text"]))
        right += len([one for one in got if one in wanted])
        wrong += len([one for one in got if one not in wanted])
        missed += len([one for one in wanted if one not in got])

    assert right / (right + missed) >= 0.9
    assert right / (right + wrong) >= 0.9
