"""What the torture consists of: a part is a function from limits to a tally, and a line here."""

from __future__ import annotations

from collections.abc import Callable

from torture.disks import full_disks
from torture.kills import crashes, kills
from torture.mutations import mutations
from torture.power import power_cuts
from torture.tally import Limits, Tally

Part = Callable[[Limits], Tally]

PARTS: dict[str, tuple[Part, float]] = {
    "mutations": (mutations, 0.4),
    "crashes": (crashes, 0.2),
    "kills": (kills, 0.2),
    "disks": (full_disks, 0.1),
    "power": (power_cuts, 0.1),
}
"""Each part with its share of the time."""
