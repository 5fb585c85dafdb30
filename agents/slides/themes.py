"""Colours, as six hexadecimal digits. Text and what it stands on differ by at least 4.5 : 1 (WCAG AA)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Theme:
    """`cover`: the ground of title, section and closing slides. `rule`: of thin lines. `series`: of a chart, in
    their order."""

    ground: str
    text: str
    muted: str
    accent: str
    cover: str
    on_cover: str
    on_cover_muted: str
    panel: str
    rule: str
    series: tuple[str, ...]


THEMES: Final[Mapping[str, Theme]] = {
    "light": Theme(
        ground="FFFFFF", text="1B2430", muted="5A6675", accent="2F5BEA", cover="16213E", on_cover="FFFFFF",
        on_cover_muted="C3CCE0", panel="F2F5FA", rule="D5DBE5",
        series=("2F5BEA", "14A38B", "F08A24", "B0467B", "6B7A90", "7C5CE0"),
    ),
    "dark": Theme(
        ground="12161F", text="F2F4F8", muted="A5B0C2", accent="7EA2FF", cover="0B0E15", on_cover="FFFFFF",
        on_cover_muted="A5B0C2", panel="1D2431", rule="384254",
        series=("7EA2FF", "4FD1B5", "FFB35C", "F08CC0", "9AA8BD", "B39DFF"),
    ),
    "warm": Theme(
        ground="FFFBF5", text="33241B", muted="75614F", accent="B4461F", cover="5B2413", on_cover="FFF6EA",
        on_cover_muted="E8CDB6", panel="F8EEE1", rule="E3D3C0",
        series=("B4461F", "D99A2B", "5F7A3D", "37718E", "8C6A5D", "A23B72"),
    ),
    "forest": Theme(
        ground="FBFDFB", text="17291F", muted="51665A", accent="1F7A4D", cover="123626", on_cover="F4FBF6",
        on_cover_muted="B9D3C4", panel="EDF5F0", rule="CFE0D6",
        series=("1F7A4D", "3A9BB5", "D8A12B", "8A5A9E", "6D8177", "C65B3C"),
    ),
}  # fmt: skip
