"""How long a name may be: counted as disks do, and an ending is no place to cut."""

import pytest

from hyperagent.lib.file_names import NAME_BYTES, fitted


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("report.pdf", "report.pdf"),
        ("u\u0308ber.txt", "über.txt"),
        (f"{'a' * 300}.pdf", f"{'a' * 236}.pdf"),
        (f"{'報' * 110}.xlsx", f"{'報' * 78}.xlsx"),
        (f"{'報' * 110}", f"{'報' * 80}"),
        (f"{'a' * 235} .{'b' * 90}.csv", f"{'a' * 235}.csv"),
        (f"a.{'報' * 110}", f"a.{'報' * 79}"),
        (f".{'a' * 300}", f".{'a' * 239}"),
    ],
)
def test_a_name_is_cut_at_its_stem_and_between_two_characters(name: str, short: str) -> None:
    assert fitted(name) == short
    assert len(fitted(name).encode()) <= NAME_BYTES
