"""What a class may be called: the name of a folder, made fit to be shown and compared."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

LONGEST = 200
IGNORED = frozenset((".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX", "@eaDir", ".directory"))
"""What systems leave in folders by themselves: passed over without a word, as is everything that begins with "._"."""


class UnusableNameError(Exception):
    """This cannot be the name of a class; the text says why, and what to do."""


def class_name(given: str) -> str:
    """The name of a folder as that of a class: letters with accents in one form (NFC), no blanks around it."""
    try:
        given.encode()
    except UnicodeEncodeError:
        raise UnusableNameError("its name is not UTF-8: rename the folder") from None
    name = unicodedata.normalize("NFC", given).strip()
    if not name:
        raise UnusableNameError("its name is blank: rename the folder")
    if name.startswith("."):
        raise UnusableNameError("it is hidden: rename the folder without the dot in front")
    if any(unicodedata.category(letter) in ("Cc", "Zl", "Zp") for letter in name):
        raise UnusableNameError("its name has control characters: rename the folder")
    if len(name) > LONGEST:
        raise UnusableNameError(f"its name has more than {LONGEST} letters: rename the folder")
    return name


def is_ignored(name: str) -> bool:
    return name in IGNORED or name.startswith("._")


def differing_in_case(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of names that are the same but for small and large letters."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(name.casefold(), []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def shown(name: str) -> str:
    """The name of a file that may not be UTF-8, as text that can be printed and written."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
