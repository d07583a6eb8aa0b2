"""What is known by name: our own, and what other packages bring along by entry points."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from classgrow.errors import ClassgrowError, nearest_name, one_line

Value = TypeVar("Value")


@cache
def installed_points(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; no package is imported for it."""
    return {point.name: point for point in entry_points(group=group)}


def loaded(point: EntryPoint, word: str) -> Any:
    """What an entry point names. A package that cannot be imported is reported here and disturbs nothing else."""
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise ClassgrowError(
            f"The {word} {point.name!r} of an installed package cannot be loaded ({one_line(error)}): "
            "fix or uninstall that package."
        ) from error


class Catalogue(Generic[Value]):
    """Values by name; each is imported when it is asked for. Other packages cannot take a built-in name.

    word   what one of them is called: "data set"
    group  the entry points by which other packages add to it: "classgrow.datasets"
    kind   what every value is an instance of, with an attribute `name`
    ours   name -> where it stands, as in an entry point: "classgrow.data.digits:DIGITS"
    """

    def __init__(self, word: str, group: str, kind: type[Value], ours: Mapping[str, str]) -> None:
        self.word, self.group, self.kind = word, group, kind
        self._ours = {name: EntryPoint(name, place, group) for name, place in ours.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """Ours, then those of other packages."""
        return tuple({**self._ours, **installed_points(self.group)})

    def __contains__(self, name: str) -> bool:
        return name in self._ours or name in installed_points(self.group)

    def __getitem__(self, name: str) -> Value:
        """The value called `name`; an unknown name or a broken package is a ClassgrowError."""
        if name not in self:
            argument, known = self.word.replace(" ", ""), ", ".join(self.names)
            hint = nearest_name(name, self.names)
            raise ClassgrowError(f"There is no {self.word} {name!r}: `{argument}` is one of {known}.{hint}")
        point = self._ours.get(name) or installed_points(self.group)[name]
        value = loaded(point, self.word)
        if not isinstance(value, self.kind) or getattr(value, "name", None) != name:
            raise ClassgrowError(
                f"The {self.word} {name!r} of an installed package is not a {self.kind.__name__} of that name "
                f"({point.value}): fix or uninstall that package."
            )
        return value

    def from_outside(self, name: str) -> tuple[Value, ...]:
        """The value if another package brings it; nothing for one of ours."""
        return () if name in self._ours else (self[name],)

    def get(self, name: str) -> Value | None:
        """The same, and None for an unknown name."""
        if name not in self:
            return None
        return self[name]

    def find(self, name: str) -> Value | None:
        """The same, and None for a broken package too: for what should work without it, as old records do."""
        try:
            return self.get(name)
        except ClassgrowError:
            return None
