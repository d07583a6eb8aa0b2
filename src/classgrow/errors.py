"""Errors that a user can fix."""

from __future__ import annotations


class ClassgrowError(Exception):
    """Bad input: one sentence with the way out. The command line prints it and exits with 2."""

    exit_code = 2


class LostProcessError(ClassgrowError):
    """Another process of the same run is gone or stuck; what it said itself is the better message."""

    exit_code = 3


class DivergedError(ClassgrowError):
    """A training went wrong: its loss or its weights stopped being numbers, at this epoch and learning rate."""

    def __init__(self, place: str, epoch: int, update: int, rate: float) -> None:
        super().__init__(
            f"The loss stopped being a number in {place}, epoch {epoch}, update {update}, at a learning rate of "
            f"{rate:.6g}: the learning rate is too high for this data; give a lower one (`lr`), let it be halved "
            "(`on_divergence` = retry), or try another method."
        )
        self.epoch, self.update, self.rate = epoch, update, rate


class ReportedElsewhereError(ClassgrowError):
    """Another process of the same run reports this: it is not printed again."""


def nearest_name(word: str, known: list[str] | tuple[str, ...]) -> str:
    """The known name closest to `word`, as a hint for an error message: " Did you mean 'memory'?" or ""."""
    import difflib

    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.5)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


def one_line(error: BaseException) -> str:
    """What an error says, shortened to one line; its kind where it says nothing."""
    return " ".join(str(error).split())[:200] or type(error).__name__
