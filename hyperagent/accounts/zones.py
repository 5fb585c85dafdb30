"""The time zones that a person may choose, for a form: by continent, then by city."""

from functools import cache
from zoneinfo import available_timezones

# What else the list holds are old names of the same zones, and fixed offsets with their signs turned round.
REGIONS = ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")


@cache
def zones_by_region() -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """(region, ((zone, its city in words), …)), both in the order of the alphabet."""
    found: dict[str, list[tuple[str, str]]] = {region: [] for region in REGIONS}
    for zone in sorted(available_timezones()):
        region, _, city = zone.partition("/")
        if region in found and city:
            found[region].append((zone, city.replace("_", " ").replace("/", ", ")))
    return tuple((region, tuple(cities)) for region, cities in found.items() if cities)


def is_choosable(zone: str) -> bool:
    return any(zone == name for _region, cities in zones_by_region() for name, _city in cities)
