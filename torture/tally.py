"""What a part of the torture counts, and how much it may do."""

from __future__ import annotations

import random
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from classgrow.errors import ClassgrowError

SLOW_SECONDS = 60.0
"""One try that takes longer counts as a hang: machines may be busy."""


@dataclass
class Tally:
    """Counts by what was tried, and a line for every problem."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def add(self, what: str) -> None:
        self.counts[what] += 1

    def problem(self, what: str, text: str) -> None:
        self.problems.append(f"{what}: {text}")

    @contextmanager
    def trying(self, what: str, *allowed: type[BaseException], seconds: float = SLOW_SECONDS) -> Iterator[None]:
        """One try: it may end well or in one sentence; anything else, or longer than `seconds`, is a problem."""
        started = time.monotonic()
        self.add(what)
        try:
            yield
        except (ClassgrowError, *allowed):
            pass
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            self.problem(what, f"{type(error).__name__}: {str(error)[:200]} ({Path(last.filename).name}:{last.lineno})")
        if time.monotonic() - started > seconds:
            self.problem(what, f"took more than {seconds:.0f} s")


@dataclass
class Limits:
    """How long a part may go on, what it draws from, and where it may write."""

    seconds: float
    folder: Path
    seed: int = 1
    most: int = 10**9

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self._end = time.monotonic() + self.seconds
        self._left = self.most

    def more(self) -> bool:
        """Whether another try may begin."""
        self._left -= 1
        return self._left >= 0 and time.monotonic() < self._end
