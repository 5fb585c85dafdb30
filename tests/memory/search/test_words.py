"""The terms of a text."""

import time

import pytest

from memory.words.query import asked
from memory.words.synonyms import other_names
from memory.words.terms import terms_of
from memory.words.tokens import LONGEST, tokens_of


@pytest.mark.parametrize("amount", ["$82,959", "82.959", "82959", "82 959".replace(" ", "\u00a0"), "82'959"])
def test_a_number_is_the_same_however_it_is_grouped(amount: str) -> None:
    assert tokens_of(f"sales of {amount} in all") == ["sales", "of", "82959", "in", "all"]


def test_decimals_are_kept() -> None:
    assert tokens_of("3.5 and 3,5 and 1,234.50 and 1.234,50") == [
        "3.5",
        "and",
        "3.5",
        "and",
        "1234.50",
        "and",
        "1234.50",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("INV-2023-0042", ["inv20230042", "inv", "2023", "0042"]),
        ("alice@example.org", ["aliceexampleorg", "alice", "example", "org"]),
        ("getUserName", ["getusername", "get", "user", "name"]),
        ("snake_case", ["snakecase", "snake", "case"]),
        ("3M_2018_10K", ["3m201810k", "3m", "2018", "10k"]),
        ("10-K", ["10k", "10"]),
        ("FY2018", ["fy2018", "fy", "2018"]),
        ("FY18", ["fy18", "fy", "2018"]),
        ("2022Q3", ["2022q3", "2022", "q3"]),
        ("U.S.", ["us"]),
        ("boundary-layer and/or", ["boundary", "layer", "and", "or"]),
    ],
)
def test_an_identifier_is_found_whole_and_by_its_parts(text: str, found: list[str]) -> None:
    assert tokens_of(text) == found


def test_text_without_spaces_is_cut_into_pairs() -> None:
    assert tokens_of("東京都の人口 and 한국어") == ["東京", "京都", "都の", "の人", "人口", "and", "한국", "국어"]


def test_accents_case_and_variant_letters_make_no_difference() -> None:
    assert tokens_of("Ünïcode STRASSE straße ﬁne ＦＵＬＬ Çà") == [
        "unicode",
        "strasse",
        "strasse",
        "fine",
        "full",
        "ca",
    ]


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "went houses", "go house"),
        ("de", "die Häuser", "Haus"),
        ("fr", "les maisons", "maison"),
        ("es", "las casas", "casa"),
        ("it", "i gatti", "gatto"),
        ("nl", "de huizen", "huizen"),
        ("pt", "os livros", "livro"),
        ("", "houses", "house"),
    ],
)
def test_forms_of_a_word_are_one_term_in_the_languages_of_documents(language: str, one: str, other: str) -> None:
    assert terms_of(one, language) == terms_of(other, language) != []


def test_words_of_hebrew_and_arabic_are_the_same_however_they_are_pointed_or_drawn_out() -> None:
    assert tokens_of("כִּתָב عَقْدٌ عـقـد") == ["כתב", "عقد", "عقد"]


@pytest.mark.parametrize(
    ("query", "own"),
    [
        ("Wie lange ist die Garantie?", ("lange", "garantie")),
        ("Quelle est la durée de la garantie ?", ("duree", "garantie")),
        ("How long is the warranty of the man?", ("long", "warranty", "man")),
        ("Garantie", ("garantie",)),
        ("War crimes", ("war", "crimes")),
    ],
)
def test_a_querys_own_words_are_without_the_stop_words_of_its_language(query: str, own: tuple[str, ...]) -> None:
    assert asked(query).own_words == own


def test_words_of_a_language_without_stems_stand_as_they_are() -> None:
    assert terms_of("domami domów", "pl") == ["domami", "domow"]


def test_a_query_is_stemmed_in_every_language() -> None:
    terms = {one.language: one.term for one in asked("häuser").words}

    assert terms["de"] == "haus"
    assert set(terms) == {"en", "de", "fr", "es", "it", "nl", "pt", "--"}


@pytest.mark.parametrize("text", ["", "   ", "\x00", "😀😀", "%_\\'\"--;", "\ud800", "…—", "." * 5000])
def test_what_has_no_words_has_no_terms(text: str) -> None:
    assert terms_of(text, "en") == []
    assert asked(text).words == ()


def test_no_term_is_longer_than_its_column() -> None:
    text = f"{'a' * 500} {'9' * 500} {'x1-' * 300} {'x' * 70}@{'y' * 70} {'漢' * 200} 1{',000' * 100}"

    assert max(len(term) for term in terms_of(text, "en")) <= LONGEST


def test_a_long_query_is_cut() -> None:
    words = asked(" ".join(f"word{number}x" for number in range(3000))).own_words

    assert 0 < len(words) <= 64


def test_a_document_of_a_hundred_pages_is_no_work() -> None:
    words = [f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676 % 26)}ing" for n in range(4000)]
    text = " ".join(words[n * 7 % 4000] for n in range(50_000))

    began = time.process_time()
    terms_of(text, "en")

    assert time.process_time() - began < 5.0


def test_business_names_bring_what_reports_say() -> None:
    assert "purchases of property plant and equipment" in other_names(tokens_of("What was the CapEx of FY2018?"))
    assert other_names(tokens_of("the P&L statement"))[0] == "statements of operations"
    assert other_names(tokens_of("who painted the sunrise?")) == []


def test_the_longer_name_wins() -> None:
    statement = other_names(tokens_of("cash flow statement"))

    assert statement == other_names(tokens_of("the statement of cash flows"))


def test_amounts_are_asked_for_in_figures() -> None:
    assert asked("What is the amount in USD millions?").wants_figures
    assert not asked("Who painted the sunrise?").wants_figures


@pytest.mark.parametrize(
    "text", ["100," * 3_000 + "1234", "1234,5678 " + "100.200," * 1_500 + "12345", "1'000'" * 3_000]
)
def test_a_list_of_numbers_takes_no_longer_than_its_length(text: str) -> None:
    """Where each number looks through the rest of the list, and that again from each of its places, it takes hours."""
    began = time.process_time()

    tokens_of(text)

    assert time.process_time() - began < 5
