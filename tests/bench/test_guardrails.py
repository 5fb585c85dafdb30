"""How many certain false alarms a measurement leaves room for, and which ordinary texts it is made of."""

import json
from pathlib import Path

import pytest

from benchmarks import guardrails
from benchmarks.guardrails import harmless, mails, measured, upper_bound


@pytest.mark.parametrize(
    ("hits", "count", "bound"),
    # Without hits 1 - 0.05 ** (1 / count); for the others the chance of so few was added up in whole fractions.
    [(0, 3_000, 0.000998), (0, 100, 0.029513), (1, 100, 0.046560), (5, 1_000, 0.010484), (100, 100, 1.0)],
)
def test_what_a_measurement_excludes_depends_on_how_many_texts_it_had(hits: int, count: int, bound: float) -> None:
    assert upper_bound(hits, count) == pytest.approx(bound, abs=2e-6)


@pytest.fixture
def collections(tmp_path: Path) -> Path:
    """Of each label of the collections three texts."""
    for name, label in (*guardrails.HARMLESS.items(), *guardrails.ATTACKS.items()):
        folder = tmp_path / "security" / name
        folder.mkdir(parents=True, exist_ok=True)
        rows = [{"text": f"Where is text {number} of {name}?", "label": label} for number in range(3)]
        with (folder / "data.jsonl").open("a") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in rows)
    return tmp_path


@pytest.mark.slow
def test_business_mail_is_whatever_lies_there_and_counts_with_all_harmless_texts(collections: Path) -> None:
    folder = collections / "business_mail" / "2026"
    folder.mkdir(parents=True)
    (folder / "one.txt").write_text("Please send me the signed offer by Friday.")
    (folder / "two.eml").write_bytes(b"Subject: Angebot\n\nBitte leiten Sie das weiter.\xff")
    (folder / "empty.txt").write_text("\n")
    (folder.parent / "SOURCE.txt").write_text("Where they are from.")
    (folder.parent / "more.jsonl").write_text('{"text": "As agreed."}\n{"text": "As agreed."}\n')

    assert sorted(text.split()[0] for text in mails(collections)) == ["As", "Please", "Subject:"]
    figures = {figure.name: figure for figure in measured(collections / "security")}

    assert figures["false alarms: business_mail, 3 texts"].value == 0
    assert figures["certain false alarms, all 12 harmless texts"].value == 0
    # So few texts could show nothing, and nothing is asked of them.
    assert figures["  share, at most (95 % confidence)"].target is None


def test_what_is_not_at_hand_is_left_out(collections: Path) -> None:
    rows = [{"title": "A wing", "text": "in a slipstream"}, {"title": "", "text": ""}, {"text": "in a slipstream"}]
    (collections / "cranfield").mkdir()
    (collections / "cranfield" / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))

    found = harmless(collections / "security")

    assert found["cranfield"] == ["A wing\nin a slipstream", "in a slipstream"]
    assert found["cisi"] == found["business_mail"] == []
