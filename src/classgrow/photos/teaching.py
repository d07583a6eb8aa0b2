"""A call of `learn` from beginning to end: photos read, learned, measured, and the next version put in place."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from classgrow.data.intake import Name
from classgrow.inputs import kept_side
from classgrow.learner import Learner
from classgrow.photos.changing import put_version
from classgrow.photos.exemplars import photo_digest
from classgrow.photos.finding import PhotosLike
from classgrow.photos.folder import CONFIG, existing, one_writer, refuse_inside, refuse_other_content
from classgrow.photos.history import Version, now
from classgrow.photos.intake import Intake, Wanted, take_in
from classgrow.photos.learning import Effort, Lesson, measured_accuracy
from classgrow.photos.presets import Wish, kept_by, plan_for, too_few
from classgrow.photos.repeated import without_repeated
from classgrow.photos.results import Learned, Preview
from classgrow.photos.saved import Content, read_current
from classgrow.progress import Progress

NAMED = 5
"""How many classes the words of a version name."""


@dataclass(frozen=True)
class Teaching:
    """Where the model lies, what a new one is made by, and how to learn."""

    folder: Path
    wish: Wish
    effort: Effort
    strict: bool
    progress: Progress

    def learn(self, photos: PhotosLike, labels: Iterable[Name] | None) -> tuple[Content, Learned]:
        """The model's next version, put in place, and what there is to say of it."""
        started = time.monotonic()
        refuse_inside(self.folder, photos)
        refuse_other_content(self.folder)
        with one_writer(self.folder):
            lesson, notes = self.lesson(photos, labels)
            for note in notes:
                self.progress.say(note)
            before, intake = lesson.before, lesson.intake
            learner = lesson.learn()
            version = self.version(lesson, learner, started)
            history = (*before.history, version) if before else (version,)
            content = Content(learner, kept_by(lesson.settings, self.wish), history)
            sources = {**(before.sources if before else {}), **sources_of(intake)}
            put_version(self.folder, content, sources)
        counts = intake.counts
        learned = Learned(
            new={name: counts[name] for name in lesson.arriving},
            known={name: count for name, count in counts.items() if name in lesson.known},
            skipped=intake.skipped,
            before=version.before,
            after=version.after,
            seconds=time.monotonic() - started,
            version=version,
            notes=tuple(notes),
        )
        return content, learned

    def preview(self, photos: PhotosLike, labels: Iterable[Name] | None) -> Preview:
        """The same as far as it can be known without learning."""
        refuse_inside(self.folder, photos)
        refuse_other_content(self.folder)
        lesson, notes = self.lesson(photos, labels)
        learner, counts = lesson.learner(), lesson.intake.counts
        return Preview(
            new={name: counts[name] for name in lesson.arriving},
            known={name: count for name, count in counts.items() if name in lesson.known},
            skipped=lesson.intake.skipped,
            notes=tuple(notes),
            words=described(learner),
            seconds=lesson.seconds(learner),
        )

    def lesson(self, photos: PhotosLike, labels: Iterable[Name] | None) -> tuple[Lesson, list[str]]:
        """Photos and model read, and what a person should know before anything is learned."""
        before = None
        if existing(self.folder) and (self.folder / CONFIG).is_file():
            before = read_current(self.folder, with_photos=True, progress=self.progress)
        plan = None if before else plan_for(self.wish)
        inputs = before.learner.inputs if before else plan.inputs if plan else None
        assert inputs is not None
        wanted = Wanted(kept_side(inputs), inputs.channels, self.strict, self.progress)
        intake = without_repeated(take_in(photos, labels, wanted), before.exemplars if before else ())
        known = tuple(before.classes) if before else ()
        lesson = Lesson(self.folder, intake, plan, before, known, self.effort, self.progress)
        trained_from_chance = not before.learner.started_from if before else not (plan and plan.starts)
        notes = [*(plan.notes if plan else ()), *intake.notes, *lesson.notes]
        return lesson, [*notes, *too_few(lesson.trains and trained_from_chance, intake.counts)]

    def version(self, lesson: Lesson, learner: Learner, started: float) -> Version:
        """What history says of this lesson."""
        last = lesson.before.history[-1] if lesson.before else None
        after, measured = measured_accuracy(learner)
        return Version(
            number=last.number + 1 if last else 1,
            when=now(),
            action="learn",
            words=words_for(lesson),
            classes=tuple(str(name) for name in learner.classes),
            photos=added(last.photos if last else {}, lesson.intake.counts),
            new=tuple(lesson.arriving),
            before=dict(last.after) if last else {},
            after=after,
            measured=measured,
            seconds=round(time.monotonic() - started, 2),
        )


def words_for(lesson: Lesson) -> str:
    """120 photos: 3 new classes (cat, dog, owl)."""
    arriving, counts = lesson.arriving, lesson.intake.counts
    parts = []
    if arriving:
        named = ", ".join(arriving[:NAMED]) + (", ..." if len(arriving) > NAMED else "")
        parts.append(f"{len(arriving)} new class{'es' if len(arriving) > 1 else ''} ({named})")
    more = [name for name in counts if name not in arriving]
    if more:
        named = ", ".join(more[:NAMED]) + (", ..." if len(more) > NAMED else "")
        parts.append(f"more of {named}")
    photos = len(lesson.intake)
    return f"{photos} photo{'s' if photos != 1 else ''}: {'; '.join(parts)}"


def added(before: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """Photos of each class, those of this lesson included."""
    return {name: before.get(name, 0) + more.get(name, 0) for name in {**before, **more}}


def sources_of(intake: Intake) -> dict[str, str]:
    """What each photo was called, without the folders above its class, by the digest of its pixels."""
    return {
        photo_digest(pixels): "/".join(source.split("/")[-2:])
        for pixels, source in zip(intake.pixels, intake.sources, strict=True)
    }


def described(learner: Learner) -> str:
    """Method, network and how long it trains, on one line."""
    start = "pretrained" if learner.started_from else "from scratch"
    how = ""
    if learner.method.objectives:
        recipe = learner.recipe
        how = f", {recipe.first.epochs} epochs in batches of {recipe.batch_size}"
    rule = learner.method.rule.title
    return f"{learner.method.name} ({rule}) on {learner.setup.network} ({start}, {learner.inputs.size} pixels){how}"
