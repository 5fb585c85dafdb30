"""The day of a document, from its name, its first lines and what it says of itself; none rather than a wrong one."""

from datetime import date

import pytest

from memory.reading.dates import date_of
from memory.reading.language import language_of

TODAY = date(2026, 11, 28)


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2022 Q3 AAPL.pdf", date(2022, 9, 30)),
        ("AAPL_2022Q1_10Q.pdf", date(2022, 3, 31)),
        ("Q4-2023 results.xlsx", date(2023, 12, 31)),
        ("report 3Q21.pdf", date(2021, 9, 30)),
        ("Q1FY23.pptx", date(2023, 3, 31)),
        ("FY2018.pdf", date(2018, 12, 31)),
        ("3M_2018_10K.pdf", date(2018, 12, 31)),
        ("notes 2023-05-01.md", date(2023, 5, 1)),
        ("20230501_minutes.txt", date(2023, 5, 1)),
        ("minutes_2023_05_01.txt", date(2023, 5, 1)),
        ("Minutes_3_May_2023.docx", date(2023, 5, 3)),
        ("Minutes 3 May 2023.docx", date(2023, 5, 3)),
        ("Protokoll 03.05.2023.docx", date(2023, 5, 3)),
        ("Report March 2021.docx", date(2021, 3, 31)),
        ("2024-02.csv", date(2024, 2, 29)),
        ("plan 2019-2023.docx", None),
        ("IMG_123420.pdf", None),
        ("10-Q.pdf", None),
        ("2023-02-31.txt", date(2023, 12, 31)),
        ("../../2021/etc.txt", None),
        ("", None),
    ],
)
def test_a_date_in_the_name(name: str, day: date | None) -> None:
    assert date_of("", name, {}, today=TODAY) == day


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("FORM 10-Q\nFor the quarterly period ended June 25, 2022\nor", date(2022, 6, 25)),
        ("For the fiscal year ended: December 31, 2018", date(2018, 12, 31)),
        ("Three Months Ended 30 September 2022", date(2022, 9, 30)),
        ("# Minutes\n\nDate: 3 May 2024\n\nAll were there.", date(2024, 5, 3)),
        ("Köln\n12. März 2020\n\nSehr geehrte", date(2020, 3, 12)),
        ("The company was founded on July 4, 1976 by two people who met in 1970.", None),
        ("Contract of employment\nDated 12 March 2020\nbetween", date(2020, 3, 12)),
        ("03/04/2023", None),
        ("As of today nothing is known.", None),
    ],
)
def test_a_date_at_the_head_of_the_text(text: str, day: date | None) -> None:
    assert date_of(text, "report.pdf", {"created": ""}, today=TODAY) == day


@pytest.mark.spec("S170")
@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("Travel policy 2026.md", date(2026, 1, 1)),
        ("Budget 2027.xlsx", None),
        ("Budget FY27.xlsx", None),
        ("Results Q4 2026.pdf", date(2026, 10, 1)),
        ("Results Q3 2026.pdf", date(2026, 9, 30)),
        ("Minutes November 2026.docx", date(2026, 11, 1)),
        ("Minutes 2026-12.docx", None),
        ("Invitation 2026-12-24.md", date(2026, 12, 24)),
    ],
)
def test_a_span_that_is_not_over_gives_no_day_to_come(name: str, day: date | None) -> None:
    assert date_of("", name, {}, today=TODAY) == day


def test_a_year_to_come_in_the_name_leaves_it_to_what_else_is_said() -> None:
    said = {"created": "D:20261101"}

    assert date_of("Date: 3 May 2026", "Budget 2027.md", said, today=TODAY) == date(2026, 5, 3)
    assert date_of("", "Budget 2027.md", said, today=TODAY) == date(2026, 11, 1)
    assert date_of("", "a.pdf", {"created": "D:2026"}, today=TODAY) == date(2026, 1, 1)
    assert date_of("", "a.pdf", {"created": "D:202613"}, today=TODAY) is None


def test_what_is_surest_wins() -> None:
    text, told = "For the quarterly period ended June 25, 2022", {"published": "2020-01-02", "created": "D:20210304"}

    assert date_of(text, "2022 Q3.pdf", told, today=TODAY) == date(2020, 1, 2)
    assert date_of(text, "2022 Q3.pdf", {"created": "D:20210304"}, today=TODAY) == date(2022, 9, 30)
    assert date_of(text, "a.pdf", {"created": "D:20210304"}, today=TODAY) == date(2022, 6, 25)
    assert date_of("", "a.pdf", {"created": "D:20210304094512+02'00'"}, today=TODAY) == date(2021, 3, 4)
    assert date_of("", "a.pdf", {"created": "yesterday", "published": "soon"}, today=TODAY) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The net sales of the company rose by seven percent.", "en"),
        ("Der Umsatz der Firma stieg um sieben Prozent.", "de"),
        ("Les ventes ont augmenté de sept pour cent cette année.", "fr"),
        ("会社の売上高は7パーセント増加しました。" * 2, "ja"),
        ("ok", ""),
        ("1234 56 7890 $ 12,345 % 77", ""),
        ("Product SKU Price Stock Warehouse", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_text_or_none_if_it_is_not_sure(text: str, language: str) -> None:
    assert language_of(text) == language
