"""Answers that hand out a recipe for mass harm: what is to be made, what goes into it, how much, and what to do.

Conservative: chemistry, history and news name such things without amounts and steps, and are let through.
"""

import re
from dataclasses import dataclass
from typing import Final

from agents.guardrails.scanner import Certainty, Finding, Place, Scanner, Subject

NAME: Final = "harmful"


def _words(listed: str) -> re.Pattern[str]:
    """A pattern for any of these; `_` is a blank or a hyphen."""
    words = "|".join(re.escape(word).replace("_", "[ -]") for word in listed.split())
    return re.compile(rf"(?i)(?<!\w)(?:{words})(?!\w)")


@dataclass(frozen=True, slots=True)
class _Recipe:
    kind: str
    reason: str
    product: re.Pattern[str]
    parts: re.Pattern[str]
    lasts: frozenset[str]


def _recipe(kind: str, reason: str, *, products: str, parts: str) -> _Recipe:
    lasts = frozenset(word.split("_")[-1] for word in parts.split())
    return _Recipe(kind, reason, _words(products), _words(parts), lasts)


_RECIPES: Final = (
    _recipe(
        "explosive",
        "It reads like a recipe for an explosive.",
        products="tatp hmtd petn rdx anfo acetone_peroxide triacetone_triperoxide pipe_bomb pipe_bombs nail_bomb "
        "fertilizer_bomb fertiliser_bomb pressure_cooker_bomb homemade_explosive ied rohrbombe bombe_artisanale "
        "bomba_casera nitroglycerin",
        parts="acetone hydrogen_peroxide peroxide sulfuric_acid sulphuric_acid nitric_acid hexamine ammonium_nitrate "
        "diesel fuel_oil nitromethane detonator blasting_cap shrapnel gunpowder black_powder fuse nails ball_bearings "
        "glycerin glycerine citric_acid aluminum_powder aluminium_powder potassium_chlorate",
    ),
    _recipe(
        "chemical",
        "It reads like a recipe for a chemical or biological weapon.",
        products="sarin tabun soman vx novichok mustard_gas sulfur_mustard ricin nerve_agent chlorine_gas phosgene "
        "botulinum_toxin",
        parts="methylphosphonyl_difluoride methylphosphonic_dichloride methylphosphonyl phosphorus_trichloride "
        "isopropyl_alcohol isopropanol pinacolyl_alcohol sodium_fluoride hydrogen_fluoride thionyl_chloride "
        "thiodiglycol diisopropylaminoethanol castor_beans castor dimethyl_methylphosphonate tributylamine "
        "sodium_cyanide",
    ),
    _recipe(
        "drug",
        "It reads like a recipe for a hard drug.",
        products="methamphetamine meth crystal_meth fentanyl mdma crack_cocaine heroin",
        parts="pseudoephedrine ephedrine sudafed red_phosphorus iodine_crystals anhydrous_ammonia lithium_strips "
        "hydriodic_acid hydroiodic_acid phenyl_2_propanone p2p methylamine npp 4-anpp propionyl_chloride "
        "phenethyl_bromide safrole piperonal acetic_anhydride coca_paste",
    ),
)
_AMOUNT: Final = re.compile(
    r"(?i)(?<![\w.])[0-9]{1,5}(?:[.,][0-9]{1,3})?\s?"
    r"(?:g|grams?|gramm|kg|mg|ml|millilit(?:er|re)s?|l|lit(?:er|re)s?|oz|ounces?|drops|parts?|cups?|moles?|°c|°f|degrees|"
    r"minutes|hours|%)(?!\w)"
)
_STEP: Final = re.compile(
    r"(?i)(?<!\w)(?:mix|add|heat|stir|dissolve|filter|pour|combine|distill?|reflux|cool|chill|drip|dry|crush|grind|pack|"
    r"attach|insert|wrap|evaporate|extract|precipitate|neutrali[sz]e|wash|slowly|drop by drop)(?!\w)"
)
WINDOW: Final = 900


def scan(text: str, subject: Subject) -> list[Finding]:
    found = []
    for recipe in _RECIPES:
        named = recipe.product.search(text)
        if named is None:
            continue
        parts = list(recipe.parts.finditer(text))
        if not parts:
            continue
        start, end = min(named.start(), parts[0].start()), max(named.end(), parts[-1].end())
        # Of a long text what stands nearest to its end: there the recipe is complete.
        start = max(start, end - WINDOW)
        certainty = _certainty(
            text,
            start,
            named=recipe.product.search(text, start, end) is not None,
            parts={one[0].lower() for one in parts if one.start() >= start},
        )
        if certainty is not None:
            found.append(Finding(NAME, recipe.kind, start, end, certainty, recipe.reason))
    return found


def _certainty(text: str, start: int, *, named: bool, parts: set[str]) -> Certainty | None:
    around = max(0, start - 80)
    amounts = len(_AMOUNT.findall(text, around))
    steps = {one.lower() for one in _STEP.findall(text, around)}
    if not named or len(parts) < 2 or not amounts or not steps:
        return None
    return Certainty.CERTAIN if len(parts) >= 3 and amounts >= 3 and len(steps) >= 3 else Certainty.SUSPECTED


SCANNER: Final = Scanner(
    NAME,
    frozenset({Place.OUTPUT}),
    scan,
    order=40,
    begins=frozenset({"stir", "reflux", "distill", "evaporate", "precipitate", "crystals"}).union(
        *(recipe.lasts for recipe in _RECIPES)
    ),
)
