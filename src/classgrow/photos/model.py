"""A model made of photos: what `classgrow.load` and `classgrow.create` return.

model = classgrow.create("model")
model.learn("photos/")          # photos/<class>/*.jpg
model.predict("x.jpg").name
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from classgrow.data.intake import Name
from classgrow.errors import ClassgrowError
from classgrow.inputs import kept_side
from classgrow.learner import Learner
from classgrow.learner.terminal import default_progress
from classgrow.photos import changes
from classgrow.photos.answering import predictions
from classgrow.photos.exemplars import Exemplar
from classgrow.photos.finding import PhotosLike
from classgrow.photos.folder import CONFIG, earlier_versions
from classgrow.photos.history import Version
from classgrow.photos.intake import Intake, Wanted, take_in, take_unlabelled
from classgrow.photos.learning import Effort
from classgrow.photos.presets import PhotoSettings, Wish, plan_for
from classgrow.photos.results import Forgotten as Forgotten
from classgrow.photos.results import Learned as Learned
from classgrow.photos.results import Nearest as Nearest
from classgrow.photos.results import Prediction as Prediction
from classgrow.photos.results import Preview as Preview
from classgrow.photos.saved import Content, read_current
from classgrow.photos.sources import Skipped as Skipped
from classgrow.photos.teaching import Teaching
from classgrow.progress import Progress


class PhotoModel:
    """A model in a folder. Nothing is written before the first `learn`; every change is a version of its own.

    `wish` is what a new model is made by. `learner` is the `classgrow.Learner` inside.
    """

    def __init__(self, folder: Path | str, wish: Wish | None = None, progress: Progress | None = None) -> None:
        self.folder = Path(folder).expanduser().resolve()
        self.wish = wish or Wish()
        self.progress = default_progress() if progress is None else progress
        self._content: Content | None = None

    # --- what it is ------------------------------------------------------------------------------------------------

    @property
    def content(self) -> Content:
        """The present version, read when it is first needed. Kept photos stay on disk."""
        if self._content is None:
            self._content = read_current(self.folder, progress=self.progress)
        return self._content

    @property
    def exists(self) -> bool:
        """Whether something was learned."""
        return self._content is not None or (self.folder / CONFIG).is_file()

    @property
    def learner(self) -> Learner:
        return self.content.learner

    @property
    def settings(self) -> PhotoSettings:
        return self.content.settings

    @property
    def decided(self) -> dict[str, object]:
        """What was decided when the model was made, by the words of `create`; photos that are not kept: `no_photos`."""
        config = self.learner.config()
        return {
            "preset": self.settings.preset,
            "method": self.learner.method.name,
            "network": self.learner.setup.network,
            "memory": config["memory"],
            "seed": config["seed"],
            "no_photos": not config["keep_photos"],
        }

    @property
    def classes(self) -> list[str]:
        """In the order in which they were learned; none before the first `learn`."""
        return self.content.classes if self.exists else []

    @property
    def history(self) -> tuple[Version, ...]:
        """Every version there was, the present one last."""
        return self.content.history if self.exists else ()

    @property
    def exemplars(self) -> list[Exemplar]:
        """The kept photos in the order of the learner's memory; none where none are kept."""
        return self.content.exemplars

    @property
    def versions(self) -> list[int]:
        """The numbers of the earlier versions that `rollback` can go back to."""
        return sorted(earlier_versions(self.folder))

    # --- learning --------------------------------------------------------------------------------------------------

    def learn(
        self,
        photos: PhotosLike,
        labels: Iterable[Name] | None = None,
        *,
        strict: bool = False,
        epochs: int | None = None,
        time_budget: str | float | None = None,
    ) -> Learned:
        """Learn from photos: new classes by the names of their folders (or `labels`), more photos of known ones.

        `strict` refuses photos of which some cannot be used. `epochs` or `time_budget` (seconds, or "10m") say how long
        a preset that trains may take. Interrupted, the model stays as it was; the same call goes on.
        """
        teaching = Teaching(self.folder, self.wish, Effort.of(epochs, time_budget), strict, self.progress)
        self._content, learned = teaching.learn(photos, labels)
        return learned

    def preview(
        self,
        photos: PhotosLike,
        labels: Iterable[Name] | None = None,
        *,
        strict: bool = False,
        epochs: int | None = None,
        time_budget: str | float | None = None,
    ) -> Preview:
        """What `learn` would do: the photos are read, and nothing is learned or written."""
        teaching = Teaching(self.folder, self.wish, Effort.of(epochs, time_budget), strict, self.progress)
        return teaching.preview(photos, labels)

    # --- answering -------------------------------------------------------------------------------------------------

    def predict(self, photos: PhotosLike, top: int = 5) -> Prediction | list[Prediction]:
        """The answer for one photo file, or those for many: a folder, an archive, or a collection of them.

        One file that cannot be read is an error; of many, those are left out and named in a warning.
        """
        intake = self.read(photos)
        if isinstance(photos, str | Path) and len(intake) + len(intake.skipped) == 1 and not Path(photos).is_dir():
            if intake.skipped:
                raise ClassgrowError(f"{intake.skipped[0].file} cannot be used: {intake.skipped[0].reason}.")
            return next(self.predictions(intake, top))
        if intake.skipped:
            named = "; ".join(f"{one.file}: {one.reason}" for one in intake.skipped[:5])
            warnings.warn(f"{len(intake.skipped)} photos are left out: {named}", stacklevel=2)
        return list(self.predictions(intake, top))

    def read(self, photos: PhotosLike, labels: Iterable[Name] | None = None, *, labelled: bool = False) -> Intake:
        """Photos as this model sees them: with `labels`, or `labelled` by their folders, or without classes."""
        inputs = self.learner.inputs
        wanted = Wanted(kept_side(inputs), inputs.channels, progress=self.progress)
        if labelled or labels is not None:
            return take_in(photos, labels, wanted)
        return take_unlabelled(photos, wanted)

    def predictions(self, intake: Intake, top: int = 5) -> Iterator[Prediction]:
        """The answer for each photo that was read."""
        return predictions(self.content, self.folder, intake, top)

    # --- changing --------------------------------------------------------------------------------------------------

    def forget(self, name: str) -> Forgotten:
        """Take a class out, with its photos, features, statistics and name, here and in all earlier versions.

        The weights of a network that was trained on its photos stay (fast and balanced train none).
        """
        self._content, forgotten = changes.forget(self.folder, name, self.progress)
        return forgotten

    def rename(self, old: str, new: str) -> Version:
        """Call a class by another name from now on; earlier versions keep the old one."""
        self._content, version = changes.rename(self.folder, old, new, self.progress)
        return version

    def rollback(self, number: int | None = None) -> Version:
        """Make an earlier version the present one, by default the one before; it becomes a new version."""
        self._content, version = changes.rollback(self.folder, number, self.progress)
        return version


def load(folder: Path | str, progress: Progress | None = None) -> PhotoModel:
    """The model of photos in a folder."""
    model = PhotoModel(folder, progress=progress)
    model.content  # noqa: B018 (read and checked at once)
    return model


def create(
    folder: Path | str,
    preset: str | None = None,
    *,
    method: str | None = None,
    network: str | None = None,
    weights: Path | str | None = None,
    memory: int | None = None,
    seed: int = 1,
    keep_photos: bool = True,
    keep: int | None = None,
    progress: Progress | None = None,
) -> PhotoModel:
    """A new model of photos; nothing is written before it has learned.

    - `preset`: "fast" (frozen pretrained features), "balanced" or "best" (trains); None: fast where pretrained weights
      are installed (the extra `photos`), else best
    - `method`, `network`, `weights`: others than the preset's
    - `memory`: photos kept in total, over all classes (2000); `keep_photos=False` keeps features instead
    - `keep`: how many earlier versions stay (5)
    """
    if (Path(folder).expanduser() / CONFIG).is_file():
        raise ClassgrowError(
            f"There is a model in {folder} already: load it with classgrow.load, or choose a new folder."
        )
    wish = Wish(preset, method, network, weights, memory, seed, keep_photos, keep)
    plan_for(wish)  # says what cannot be before any photo is read
    return PhotoModel(folder, wish, progress)
