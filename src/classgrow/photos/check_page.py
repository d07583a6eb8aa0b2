"""The page of a check: what was found, with the photos to look at."""

from __future__ import annotations

from dataclasses import dataclass

from classgrow.photos.checking import KINDS, Checked, Finding, Kind
from classgrow.photos.pages import page

MOST_FINDINGS, MOST_PHOTOS = 60, 12
"""How much of a kind the page shows; the rest is counted."""


@dataclass(frozen=True)
class Section:
    """A kind of finding: those with pictures, those of words alone, and how many are left out."""

    kind: Kind
    total: int
    groups: tuple[Finding, ...]
    lines: tuple[Finding, ...]
    more: int


def sections(checked: Checked) -> list[Section]:
    """What was found, by kind, in the order in which it matters."""
    made = []
    for kind in KINDS:
        found = checked.of(kind)
        if found:
            shown = found[:MOST_FINDINGS]
            groups = tuple(one for one in shown if any(photo.thumbnail for photo in one.photos))
            lines = tuple(one for one in shown if one not in groups)
            made.append(Section(kind, len(found), groups, lines, len(found) - len(shown)))
    return made


def check_page(checked: Checked, title: str) -> str:
    """The whole page."""
    return page(
        "check.html",
        title=title,
        checked=checked,
        sections=sections(checked),
        most=MOST_PHOTOS,
        largest=max(checked.classes.values(), default=1),
        classes=sorted(checked.classes.items(), key=lambda item: (item[1], item[0])),
    )
