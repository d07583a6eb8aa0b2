"""Texts that are safe to show anywhere, and words that are safe in the names of files."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from classgrow.specs.typed import WORD

_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control characters (terminal escapes), halves of pairs, line ends
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of writing: with them a name can look like another one."""
_BLANK = frozenset("\t\n\r\x0b\x0c\x85\u2028\u2029")


def printable(text: str) -> str:
    """The text on one line, with nothing that a terminal obeys: a line end becomes a blank, any other character that
    cannot be seen stands there as \\x1b would."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter in _BLANK:
        return " "
    if unicodedata.category(letter) in _UNSEEN or letter in _TURNING:
        return letter.encode("unicode_escape", "surrogatepass").decode("ascii")
    return letter


def is_word(text: str) -> bool:
    """May `text` stand in the name of a file as it is?"""
    return WORD.fullmatch(text) is not None


def _cleaned(value: object) -> object:
    return printable(value) if isinstance(value, str) else value


def _checked_word(text: str) -> str:
    if not is_word(text):
        raise ValueError(f"{printable(text)[:60]!r} is not a plain word")
    return text


Text = Annotated[str, BeforeValidator(_cleaned)]
"""Any text, as `printable` shows it."""
Word = Annotated[str, AfterValidator(_checked_word)]
"""A name: letters, digits and . + : - _ (not in front), 64 at most."""
