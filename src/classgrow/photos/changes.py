"""Changes of a model that need no photos: forget a class, rename one, go back to an earlier version."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.photos.changing import put_version
from classgrow.photos.folder import earlier_versions, one_writer
from classgrow.photos.forgetting import Traces, former_names, holds, prove_forgotten
from classgrow.photos.history import Action, Version, now
from classgrow.photos.learning import measured_accuracy
from classgrow.photos.names import UnusableNameError, class_name
from classgrow.photos.results import Forgotten
from classgrow.photos.saved import Content, read_current, read_history, read_version
from classgrow.progress import Progress

Number = TypeVar("Number", int, float)


def forget(folder: Path, name: str, progress: Progress) -> tuple[Content, Forgotten]:
    """Take a class out, with its photos, features, statistics and name, here and in all earlier versions."""
    with one_writer(folder):
        content = read_current(folder, with_photos=True, progress=progress)
        check_known(content, name)
        traces = Traces.of(content, name)
        sources = sources_without(content, name)
        content.learner.forget(name)
        before = {one: value for one, value in content.history[-1].after.items() if one != name}
        after, measured = measured_accuracy(content.learner)
        version = next_version(content, "forget", "a class was forgotten", before).without(name)
        version = replace(version, after=after, measured=measured)
        history = content.history
        for every in (name, *former_names(history, name)):
            history = tuple(one.without(every) for one in history)
        content = replace(content, history=(*history, version), exemplars=[])
        checked: list[str] = []
        removed = put_version(
            folder,
            content,
            sources,
            stays=lambda place: not holds(place, traces),
            check=lambda new: checked.extend(prove_forgotten(new, traces)),
        )
    return content, Forgotten(name, tuple(checked), tuple(removed), before, after, version)


def rename(folder: Path, old: str, new: str, progress: Progress) -> tuple[Content, Version]:
    """Call a class by another name from now on; earlier versions keep the old one."""
    with one_writer(folder):
        content = read_current(folder, with_photos=True, progress=progress)
        check_known(content, old)
        try:
            new = class_name(new)
        except UnusableNameError as problem:
            words = str(problem).replace("rename the folder", "choose another name")
            raise ClassgrowError(f"A class cannot be called {new!r}: {words}.") from problem
        if new in content.classes:
            raise ClassgrowError(f"There is a class {new!r} already: choose another name.")
        state = content.learner.state
        state.classes = tuple(replace(label, name=new) if label.name == old else label for label in state.classes)
        version = next_version(content, "rename", f"{old} is now called {new}", content.history[-1].after)
        version = replace(
            version,
            photos=renamed(version.photos, old, new),
            before=renamed(version.before, old, new),
            after=renamed(version.after, old, new),
        )
        content = replace(content, history=(*content.history, version))
        put_version(folder, content, content.sources)
    return content, version


def rollback(folder: Path, number: int | None, progress: Progress) -> tuple[Content, Version]:
    """Make an earlier version the present one, by default the one before; it becomes a new version."""
    with one_writer(folder):
        earlier = earlier_versions(folder)
        if not earlier:
            raise ClassgrowError(f"The model {folder} has no earlier version to go back to.")
        chosen = max(earlier) if number is None else number
        if chosen not in earlier:
            known = ", ".join(map(str, earlier))
            raise ClassgrowError(f"There is no earlier version {chosen} to go back to: at hand are {known}.")
        content = read_version(earlier[chosen], with_photos=True, progress=progress)
        history = content.history
        with suppress(ClassgrowError):  # the present version may be damaged: that is a reason to go back
            history = read_history(folder)
        version = next_version(content, "rollback", f"back to version {chosen}", content.history[-1].after)
        last = max(history[-1].number, *earlier)
        version = replace(version, number=last + 1, before=history[-1].after)
        content = replace(content, history=(*history, version))
        put_version(folder, content, content.sources)
    return content, version


def check_known(content: Content, name: str) -> None:
    if name not in content.classes:
        hint = nearest_name(name, content.classes)
        raise ClassgrowError(f"The model knows no class {name!r}.{hint}")


def next_version(content: Content, action: Action, words: str, measured: Mapping[str, float]) -> Version:
    """The version that comes after those of the content, as to its classes; `measured` is their accuracy."""
    last = content.history[-1]
    return Version(
        number=last.number + 1,
        when=now(),
        action=action,
        words=words,
        classes=tuple(content.classes),
        photos=dict(last.photos),
        before=dict(measured),
        after=dict(measured),
        measured=last.measured,
    )


def sources_without(content: Content, name: str) -> dict[str, str]:
    """What kept photos were called, without those of one class."""
    others = {one.file for one in content.exemplars if one.label != name}
    return {digest: source for digest, source in content.sources.items() if f"{digest}.png" in others}


def renamed(values: Mapping[str, Number], old: str, new: str) -> dict[str, Number]:
    return {new if name == old else name: value for name, value in values.items()}
