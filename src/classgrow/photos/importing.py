"""An experiment's result as a model: it predicts, learns on and forgets as one that photos were learned from."""

from __future__ import annotations

from pathlib import Path

from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.photos.changing import put_version
from classgrow.photos.folder import CONFIG, one_writer, refuse_other_content
from classgrow.photos.history import Version, now
from classgrow.photos.presets import PhotoSettings
from classgrow.photos.saved import Content
from classgrow.records.record import Record


def import_run(folder: Path, learner: Learner, record: Record) -> Version:
    """Write the learner of a finished run into a new folder; accuracies are those on the run's test images."""
    folder = folder.expanduser().resolve()
    refuse_other_content(folder)
    if (folder / CONFIG).is_file():
        raise ClassgrowError(f"There is a model in {folder} already: choose a new folder for `model`.")
    names = tuple(str(name) for name in learner.classes)
    last = record.phases[-1]
    rule = last.rules.get(learner.method.rule.name)
    accuracy = zip(names, rule.per_class, strict=True) if rule is not None else ()
    version = Version(
        number=1,
        when=now(),
        action="import",
        words=f"from the run {record.identity}: {len(record.phases)} phases of {record.resolved.dataset}",
        classes=names,
        photos={},
        new=names,
        after={name: value for name, value in accuracy if value is not None},
        measured="tested",
        seconds=sum(phase.seconds.total for phase in record.phases),
    )
    with one_writer(folder):
        put_version(folder, Content(learner, PhotoSettings("best"), (version,)), {})
    return version
