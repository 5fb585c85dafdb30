"""How long each thing may take in the browser, in seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """`idle_s`: how long a connection to a browser is kept after its last use; the browser goes on."""

    navigating_s: float = 30
    acting_s: float = 10
    settling_s: float = 5
    looking_s: float = 15
    idle_s: float = 120
