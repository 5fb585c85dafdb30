"""Bytes become the text that was written, in whatever encoding it was."""

from pathlib import Path

import pytest

from memory.reading.decoding import decoded
from tests.memory.reading.reading import read_all


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Größe: 5 m²\n"),
        ("cp1252", "Name;Betrag\nMüller;1.200,50 €\nSchäfer;300,00 €\n"),
        ("cp1252", "Die Vertragslaufzeit beträgt 24 Monate – „unkündbar“.\n"),
        ("cp1252", "Café crème à la carte, déjà vu, où êtes-vous ?"),
        ("cp1252", "El año pasado, ¿cuánto costó la reunión en Coruña?"),
        ("cp1252", "Vi sælger brød på Nørrebro, og kaffen er også god."),
        ("cp1252", "Müller;Peña;Gonçalves;Sørensen\nStraße;München;Ågård\n"),
        ("cp1250", "Umowa wchodzi w życie z dniem 1 kwietnia. Kupujący płaci cenę towaru."),
        ("cp1250", "Smlouva nabývá účinnosti dne 1. dubna. Kupující zaplatí kupní cenu."),
        ("cp1250", "A szerződés április 1-jén lép hatályba. A vevő fizeti a költségeket, és a gyűjtő őrzi."),
        ("cp1254", "Sözleşme 1 Nisan'da yürürlüğe girer. Alıcı malın bedelini öder."),
        ("cp1257", "Sutartis įsigalioja balandžio 1 dieną. Pirkėjas moka kainą už prekę, ir šalys žino jų teises."),
        ("cp1250", "Ugovor stupa na snagu 1. travnja. Kupac plaća cijenu robe i troškove do mjeseca ožujka."),
        ("cp1252", "Þetta er samningur á íslensku, og verðið er hátt."),
        ("cp1251", "Договор вступает в силу с 1 апреля 2024 года. Покупатель оплачивает товар."),
        ("shift_jis", "契約書\n本契約は2024年4月1日より有効とする。\n"),
        ("gb18030", "本合同自2024年4月1日起生效。\n甲方应当支付货款。"),
        ("utf-8", "Größe: 5 m², 契約"),
    ],
    ids=lambda value: value if len(value) < 12 else value[:12].strip(),
)
def test_a_text_is_read_as_it_was_written(encoding: str, text: str) -> None:
    assert decoded(text.encode(encoding)) == text


def test_the_reader_of_files_finds_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("Café crème à la carte, où êtes-vous ?".encode("cp1252"))

    _, (page,) = read_all(path)

    assert page.text == "Café crème à la carte, où êtes-vous ?"


def test_an_accent_at_the_very_end_is_one_too() -> None:
    assert decoded("Unterschrift: André".encode("latin-1")) == "Unterschrift: André"
    assert decoded("Unterschrift: André\n".encode("latin-1")) == "Unterschrift: André\n"


def test_a_letter_that_was_cut_in_two_makes_no_other_text_of_the_rest() -> None:
    assert decoded("Größe: 5 m²".encode()[:-1]) == "Größe: 5 m\ufffd"


@pytest.mark.slow
@pytest.mark.parametrize("said", ['<meta charset="windows-1251">', '<?xml version="1.0" encoding="windows-1251"?>'])
def test_a_web_page_is_in_the_encoding_that_it_says(tmp_path: Path, said: str) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(f"{said}<html><head><title>Цены</title></head><body><p>Чай: 7</p></body></html>".encode("cp1251"))

    _, (page,) = read_all(path)

    assert "Чай: 7" in page.text


@pytest.mark.slow
@pytest.mark.parametrize("charset", ["iso-8859-1", "us-ascii", "windows-1252"])
def test_the_signs_of_a_mail_that_says_latin_1_are_kept(tmp_path: Path, charset: str) -> None:
    path = tmp_path / "offer.eml"
    head = f"Subject: Angebot\r\nContent-Type: text/plain; charset={charset}\r\n\r\n"
    path.write_bytes(head.encode() + "Das Angebot über 1.200 € gilt „bis Montag“.".encode("cp1252"))

    _, (page,) = read_all(path)

    assert page.text.endswith("Das Angebot über 1.200 € gilt „bis Montag“.")
