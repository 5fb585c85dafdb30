"""The citation check by words (B19): sentences, figures, and claims that a passage says, or does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.craft.exchange import AgentOutput
from agents.engine.events import Source
from agents.pipeline.figures import facts_of
from agents.pipeline.grounding import Evidence, checks_of, evidence_of, judged, nearest_said, said_by
from agents.pipeline.sentences import sentences_of
from memory.samples import FOLDER

REPORT, PUMP, TRAVEL = (
    (FOLDER / name).read_text() for name in ("acme-quarterly-report.md", "product-questions.md", "travel-policy.md")
)
HANDBOOK = """## Probezeit und Kündigung
Die Probezeit beträgt sechs Monate. Während der Probezeit kann das Arbeitsverhältnis mit einer Frist von zwei
Wochen gekündigt werden.
Danach gilt die gesetzliche Kündigungsfrist von vier Wochen zum 15. oder zum Ende eines Kalendermonats. Der Urlaub
beträgt 28 Arbeitstage im Jahr;
nicht genommener Urlaub verfällt am 31. März des Folgejahres. Homeoffice ist an höchstens zwei Tagen in der Woche
erlaubt. Überstunden werden nicht ausgezahlt, sondern durch Freizeit ausgeglichen."""
LEASE = """
The tenant shall pay a monthly rent of EUR 1,250, due on the third working day of each month. The deposit amounts
to three monthly rents and is returned within six months after the end of the lease. Pets are allowed only with the
written consent of the landlord. Subletting is prohibited. The notice period is three months for the tenant. Dr.
Miller Property GmbH is the landlord."""
STUDY = """
We measured 312 participants over eighteen months. The treatment group showed a 23 % reduction in relapse compared
with placebo (p = 0.004). No significant effect was found on sleep quality. Side effects were mild and mostly
limited to headaches. The study was funded by the Northfield Foundation and preregistered in March 2021."""
# What a model that keeps to its passages writes.
FAITHFUL = (
    ("Acme's revenue in Q3 2026 was 4.2 million euro.", REPORT),
    ("Revenue was €4.2 million in the third quarter of 2026, up 7.7 % from the previous quarter.", REPORT),
    ("Operating profit rose from 0.61 million euro? It was 0.48 million in Q2 and 0.61 million in Q3.", REPORT),
    ("Maintenance contracts contributed the most and account for 41 % of revenue.", REPORT),
    ("The board expects Q4 revenue of 4.3 to 4.5 million euro.", REPORT),
    ("A new warehouse opens in Linz on November 2, 2026.", REPORT),
    ("Acme had 38 employees in the third quarter.", REPORT),
    ("The number of employees grew from 36 to 38.", REPORT),
    ("Revenue: **4.2 million euro**", REPORT),
    ("The warranty lasts three years from the purchase date.", PUMP),
    ("It covers the motor and the seals, but not the filter.", PUMP),
    ("The filter is not covered by the warranty.", PUMP),
    ("You have to change the filter every six months or after 400 hours of work.", PUMP),
    ("The filter's part number is AP-200-F.", PUMP),
    ("E7 means that the pump is running dry.", PUMP),
    ("If the error comes back within a minute, the inlet is blocked.", PUMP),
    ("Switch the pump off, fill the housing with water and restart it.", PUMP),
    ("Hotels may cost up to 140 euro a night, or 180 euro in capitals.", TRAVEL),
    ("The daily allowance is 30 euro domestically and 45 euro abroad.", TRAVEL),
    ("Flights must be booked at least 14 days in advance, in economy class.", TRAVEL),
    ("First class needs the team lead's approval.", TRAVEL),
    ("Receipts have to be handed in within 30 days after you return.", TRAVEL),
    ("Tips are reimbursed up to 10 % of the bill.", TRAVEL),
    ("Die Probezeit dauert sechs Monate.", HANDBOOK),
    ("In der Probezeit beträgt die Kündigungsfrist zwei Wochen.", HANDBOOK),
    ("Der Urlaub beträgt 28 Arbeitstage pro Jahr.", HANDBOOK),
    ("Resturlaub verfällt am 31. März des Folgejahres.", HANDBOOK),
    ("Überstunden werden nicht ausgezahlt.", HANDBOOK),
    ("Homeoffice ist höchstens an 2 Tagen pro Woche erlaubt.", HANDBOOK),
    ("The rent is 1,250 euro a month and is due on the third working day.", LEASE),
    ("The deposit is three monthly rents and is returned within six months after the lease ends.", LEASE),
    ("Pets need the landlord's written consent.", LEASE),
    ("Subletting is not allowed.", LEASE),
    ("The tenant's notice period is three months.", LEASE),
    ("The landlord is Dr. Miller Property GmbH.", LEASE),
    ("Relapse fell by 23 % in the treatment group compared with placebo.", STUDY),
    ("The study had 312 participants and lasted 18 months.", STUDY),
    ("It found no significant effect on sleep quality.", STUDY),
    ("The Northfield Foundation funded the study.", STUDY),
    ("It was preregistered in March 2021.", STUDY),
    ("Side effects were mild, mostly headaches.", STUDY),
)
# What one writes that does not.
MADE_UP = (
    ("Acme's revenue in Q3 2026 was 5.1 million euro.", REPORT),
    ("Revenue grew by 12 % over the second quarter.", REPORT),
    ("The new warehouse opens in Graz on 2 November 2026.", REPORT),
    ("The board expects revenue to fall in the fourth quarter.", REPORT),
    ("Acme plans to acquire a competitor in Vienna next year.", REPORT),
    ("Operating profit was 0.61 billion euro.", REPORT),
    ("The CEO, Maria Huber, resigned in October.", REPORT),
    ("Acme paid a dividend to its shareholders.", REPORT),
    ("The warranty covers the filter.", PUMP),
    ("The warranty lasts five years.", PUMP),
    ("The filter has to be changed every three months.", PUMP),
    ("E8 means that the pump runs dry.", PUMP),
    ("The pump is made of stainless steel and weighs little.", PUMP),
    ("The warranty does not cover the motor.", PUMP),
    ("Hotels cost at most 240 euro a night.", TRAVEL),
    ("Business class is allowed on flights over six hours.", TRAVEL),
    ("Receipts can be handed in within ninety days.", TRAVEL),
    ("Rental cars need insurance from the company's broker.", TRAVEL),
    ("Die Probezeit beträgt drei Monate.", HANDBOOK),
    ("Überstunden werden ausgezahlt.", HANDBOOK),
    ("Der Urlaub verfällt am 31. Dezember.", HANDBOOK),
    ("Mitarbeiter erhalten einen Dienstwagen und Weihnachtsgeld.", HANDBOOK),
    ("Subletting is allowed with consent.", LEASE),
    ("The deposit is two monthly rents.", LEASE),
    ("The landlord pays for all repairs and heating.", LEASE),
    ("Pets are always allowed.", LEASE),
    ("Sleep quality improved significantly.", STUDY),
    ("The study was funded by Pfizer.", STUDY),
    ("Severe side effects forced many participants to stop.", STUDY),
    ("Relapse fell by 32 %.", STUDY),
)


@pytest.mark.spec("B19")
@pytest.mark.parametrize(("claim", "passage"), FAITHFUL)
def test_what_a_passage_says_is_never_called_unsupported(claim: str, passage: str) -> None:
    supported, why = judged(claim, [passage])

    assert supported is not False, why


@pytest.mark.spec("B19")
def test_most_faithful_paraphrases_need_no_model() -> None:
    supported = [judged(claim, [passage])[0] for claim, passage in FAITHFUL]

    assert supported.count(True) / len(FAITHFUL) >= 0.9


@pytest.mark.spec("B19")
def test_hardly_anything_made_up_passes_as_supported() -> None:
    passed = [claim for claim, passage in MADE_UP if judged(claim, [passage])[0] is True]

    # What is left differs by a verb or an adverb alone: words cannot tell.
    assert len(passed) / len(MADE_UP) <= 0.1, passed


@pytest.mark.spec("B19")
@pytest.mark.parametrize(
    ("claim", "passage", "missing"),
    [
        ("Revenue was 5.1 million euro.", REPORT, "5.1"),
        ("It was 4.2 billion.", REPORT, "4.2"),
        ("Revenue grew in Q4 2025.", REPORT, "2025"),
        ("The warehouse opens on 3 November 2026.", "It opens on 2 November 2026.", "3"),
        ("The warehouse opens on 2 October 2026.", REPORT, "month 10"),
        ("E8 means that it runs dry.", PUMP, "e8"),
        ("The study was funded by Pfizer.", STUDY, "pfizer"),
    ],
)
def test_a_figure_a_day_or_a_name_that_is_not_there_is_named(claim: str, passage: str, missing: str) -> None:
    supported, why = judged(claim, [passage])

    assert supported is False
    assert missing in why


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("Revenue was 4.2 million euro.", "Der Umsatz: 4,2 Mio. €"),
        ("It was 4,200,000 euro.", "revenue of 4.2 million"),
        ("In the third quarter of 2026.", "Q3 2026"),
        ("On 2 November 2026.", "am 2.11.2026"),
        ("On November 2, 2026.", "2026-11-02"),
        ("Nach drei Jahren.", "after 3 years"),
        ("41% of it.", "41 percent"),
        ("It is AP-200-F.", "part AP200F"),
        ("€82,959", "82.959"),
        ("4.5 million", "4.3-4.5 million"),
        ("You may book it.", "nothing"),
    ],
)
def test_the_same_figure_is_known_in_another_form(claim: str, passage: str) -> None:
    assert facts_of(claim).missing(facts_of(passage)) == []


SLASHED = "It ends on 25/11/2026; notice is given until 02/11/2026."


@pytest.mark.parametrize(
    ("claim", "lacking"),
    [
        ("It ends on 25 November 2026.", []),
        ("Es endet am 25.11.2026.", []),
        ("It ends on 11/25/2026.", []),
        ("Notice is given until 2 November 2026.", []),
        ("Notice is given until 11 February 2026.", []),
        ("It ends on 25 December 2026.", ["month 12"]),
        ("It ends on 25/12/2026.", ["month 12"]),
        ("It ends on 3/4/2026.", ["3 or 4", "month 3 or 4"]),
        ("It ends on 24/11/2026.", ["24"]),
    ],
)
def test_a_day_with_slashes_is_what_it_can_be_read_as(claim: str, lacking: list[str]) -> None:
    assert facts_of(claim).missing(facts_of(SLASHED)) == lacking


@pytest.mark.parametrize("claim", ["Notice until 2 November 2026.", "Notice until 11 February 2026."])
def test_a_claim_with_slashes_is_borne_out_by_either_reading(claim: str) -> None:
    assert facts_of("Notice until 02/11/2026.").missing(facts_of(claim)) == []


def test_a_name_of_the_question_need_not_be_in_the_passage() -> None:
    passage = "We made a revenue of 4 million euro."

    assert judged("The revenue of Acme was 4 million euro.", [passage], question="What does Acme earn?")[0] is True
    assert judged("The revenue of Bcme was 4 million euro.", [passage], question="What does Acme earn?")[0] is False


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("It was 4.2 million [1]. It grew by 7.7 % [2], e.g. by contracts.", 2),
        ("Am 2. November öffnet es. [1] Dr. Who kam z. B. nicht.", 2),
        ("# Head\n\n- one [1]\n- two\n  goes on [2]\n\n| a |\n|---|\n| 1. x [1] |\n\n```\ncode. x.\n```", 2),
        ("> quoted\n> goes on. Second.", 2),
        ("1. First.\n2. Second!\n   - Third?", 3),
        ("Im 3. Quartal stieg er. It is 41. The end", 3),
        ("```\nnever closed. [1]", 0),
    ],
)
def test_an_answer_is_cut_into_sentences_that_stand_where_they_say(answer: str, sentences: int) -> None:
    found = sentences_of(answer, 2)

    assert [answer[one.start : one.end] for one in found] == [one.text for one in found]
    assert len(found) == sentences, found


@given(st.text(st.sampled_from("aB1. !?\n#|->`[]()*_"), max_size=120), st.integers(0, 3))
def test_sentences_of_any_text_are_in_order_and_do_not_overlap(answer: str, sources: int) -> None:
    at = 0
    for one in sentences_of(answer, sources):
        assert at <= one.start < one.end <= len(answer)
        assert one.text == answer[one.start : one.end] == one.text.strip()
        at = one.end


def test_the_marks_of_markdown_and_the_numbers_are_no_part_of_what_is_said() -> None:
    assert said_by("**Revenue:** `4.2` [million](https://x.example) _euro_ [1][2, 3].") == "Revenue: 4.2 million euro ."


CHUNKS = [
    {"chunk_id": "c1", "score": 0.9, "text": "Revenue was 4.2 million.", "metadata": {"filename": "r.pdf", "page": 3}},
    {"chunk_id": "c2", "score": 0.8, "text": "Profit was 0.6 million.", "metadata": {"filename": "r.pdf", "page": 3}},
    {"chunk_id": "c3", "score": 0.7, "text": "Staff: 38.", "metadata": {"filename": "r.pdf", "page": 4}},
    {"surprise": 1},
]
SOURCES = (
    Source(type="document", source="r.pdf", page=3, chunk_id="c1", excerpt="Revenue"),
    Source(type="document", source="r.pdf", page=4, chunk_id="c3"),
    Source(type="web", source="News", url="https://n.example", excerpt="Revenue rose to 4.2 million."),
)


def _output(chunks: object = None) -> AgentOutput:
    data = {"chunks": CHUNKS if chunks is None else chunks}
    return AgentOutput(agent_id="a", agent_name="rag", task_description="t", task_done=True, data=data)


@pytest.mark.spec("B19", "S173")
def test_a_source_is_all_passages_of_its_page_and_a_web_page_only_its_excerpt() -> None:
    found = evidence_of(SOURCES, [_output(), _output("no list")])

    assert [one.texts for one in found] == [
        ("Revenue was 4.2 million.", "Profit was 0.6 million."),
        ("Staff: 38.",),
        ("Revenue rose to 4.2 million.",),
    ]
    assert [one.is_whole for one in found] == [True, True, False]


@pytest.mark.spec("B19")
def test_each_cited_sentence_is_checked_against_what_it_cites() -> None:
    answer = (
        "Revenue was 4.2 million [1]. Profit was 0.6 million [2]. Revenue rose to 4.2 million [3]. "
        "It rose to 9 million [3]. That is 7 more. Good luck."
    )

    checks = checks_of(answer, evidence_of(SOURCES, [_output()]))

    assert [(check.supported, check.citations) for check in checks] == [
        (True, (1,)),
        (False, (2,)),
        (True, (3,)),
        (None, (3,)),
        (None, ()),
    ]
    assert all(answer[check.start : check.end] == check.sentence for check in checks)
    assert checks[3].why == "Only an excerpt of the source is at hand, and it does not say so."
    assert checks[4].why == "It names no source."


def test_an_answer_without_citations_has_nothing_to_check() -> None:
    assert checks_of("It was 4.2 million.", evidence_of(SOURCES, [_output()])) == []
    assert checks_of("It was 4.2 million [1].", ()) == []


def test_a_source_in_another_language_is_not_for_words_to_judge() -> None:
    evidence = Evidence(SOURCES[0], (HANDBOOK,), is_whole=True)

    (check,) = checks_of("During the probation period the notice is two weeks [1].", [evidence])

    assert check.supported is None


@pytest.mark.parametrize(
    ("asked", "beside", "said"),
    [
        ("How many nights in a hotel?", "", "Hotels cost 140 euro a night."),
        ("What did Berlin sell?", "", "Berlin, 12 pumps"),
        ("What about pumps in the report?", "report.md", "Berlin, 12 pumps"),
        ("And the report?", "report.md", "Hotels cost 140 euro a night. Trains too. Berlin, 12 pumps"),
        ("Trains?", "Trains too.", "Hotels cost 140 euro a night. Berlin, 12 pumps"),
        ("Is there a moon?", "", ""),
    ],
    ids=["item", "row", "beside", "all beside", "said beside", "none"],
)
def test_the_sentence_that_comes_nearest_is_found(asked: str, beside: str, said: str) -> None:
    text = "# Pumps, hotels and the moon\n\n- Hotels cost 140 euro a night.\n- Trains too.\n\n| Berlin | 12 pumps |"

    assert nearest_said(text, to=asked, beside=beside) == said
