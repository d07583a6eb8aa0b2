"""Pictures of a model: the accuracy of every class before and after, and a contact sheet of the photos it keeps."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from classgrow.data.opening import open_image
from classgrow.errors import ClassgrowError
from classgrow.photos.exemplars import Exemplar
from classgrow.photos.folder import EXEMPLARS
from classgrow.photos.history import Version

MOST_ROWS = 40
BEFORE, AFTER, NEW, INK, RULE = "#9a9a9a", "#1f6fb4", "#2a9d4a", "#222222", "#dddddd"


@dataclass(frozen=True)
class Row:
    """A class in the picture: accuracies in percent; None where it was not measured."""

    name: str
    before: float | None
    after: float | None


def rows_for(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[list[Row], str]:
    """Old classes, then new ones; of very many those that changed most, and what to say of the others."""
    names = [name for name in dict.fromkeys((*before, *after)) if name in after or name in before]
    rows = [Row(name, percent(before.get(name)), percent(after.get(name))) for name in names]
    if len(rows) <= MOST_ROWS:
        return rows, ""

    def change(row: Row) -> float:
        return abs((row.after or 0.0) - (row.before if row.before is not None else 100.0))

    most = sorted(rows, key=change, reverse=True)[:MOST_ROWS]
    return [row for row in rows if row in most], f"the {MOST_ROWS} of {len(rows)} classes that stand out most"


def percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def accuracy_picture(version: Version) -> bytes:
    """A PNG: a line for each class from its accuracy before to that after; new classes have the latter alone."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    rows, said = rows_for(version.before, version.after)
    figure = Figure(figsize=(7.0, 1.5 + 0.27 * max(3, len(rows))), dpi=110, layout="constrained")
    axes = figure.add_subplot()
    for place, row in enumerate(rows):
        if row.before is not None and row.after is not None:
            axes.plot([row.before, row.after], [place, place], color=RULE, linewidth=3, zorder=1)
        if row.before is not None:
            axes.plot(row.before, place, "o", color=BEFORE, markersize=9, markerfacecolor="white", zorder=2)
        if row.after is not None:
            axes.plot(row.after, place, "o", color=AFTER if row.before is not None else NEW, markersize=6, zorder=3)
    axes.set_yticks(range(len(rows)), [shortened(row.name) for row in rows], parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-3, 103)
    axes.set_xlabel(f"accuracy in % ({version.measured})" + (f": {said}" if said else ""), color=INK)
    axes.grid(axis="x", color=RULE, linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0, colors=INK)
    entries = {"before": (BEFORE, "white"), "after": (AFTER, AFTER), "new class": (NEW, NEW)}
    old, new = any(row.before is not None for row in rows), any(row.before is None for row in rows)
    shown = [name for name in entries if (name == "new class" and new) or (name != "new class" and old)]
    handles = [
        Line2D([], [], marker="o", linestyle="", color=entries[name][0], markerfacecolor=entries[name][1], label=name)
        for name in shown
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=3, frameon=False)
    figure.suptitle(f"Version {version.number}: {len(version.classes)} classes", x=0.01, ha="left", color=INK, size=12)
    return saved(figure)


def saved(figure: object) -> bytes:
    """A figure as a PNG, whatever letters it lacks a drawing for."""
    import warnings

    from matplotlib.figure import Figure

    assert isinstance(figure, Figure)
    content = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(content, format="png", metadata={"Software": None})
    return content.getvalue()


def shortened(name: str, most: int = 28) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


# --- contact sheet -------------------------------------------------------------------------------------------------

THUMBNAIL, GAP, MARGIN, LABEL = 88, 6, 16, 190


def contact_sheet(
    folder: Path, exemplars: Sequence[Exemplar], classes: Iterable[str], columns: int = 8, most: int | None = None
) -> bytes:
    """A PNG with a row of kept photos for each class; `most` limits the classes."""
    by_class: dict[str, list[Exemplar]] = {name: [] for name in classes}
    for exemplar in exemplars:
        by_class[exemplar.label].append(exemplar)
    if not any(by_class.values()):
        raise ClassgrowError("This model keeps no photos: there is nothing to show on a sheet.")
    shown = list(by_class)[:most]
    step = THUMBNAIL + GAP
    header = 34
    height = 2 * MARGIN + header + len(shown) * step + (22 if len(shown) < len(by_class) else 0)
    sheet = Image.new("RGB", (2 * MARGIN + LABEL + columns * step, height), "white")
    pen = ImageDraw.Draw(sheet)
    kept = sum(len(photos) for photos in by_class.values())
    pen.text((MARGIN, MARGIN), f"{len(by_class)} classes, {kept} photos kept", INK, font(18))
    for row, name in enumerate(shown):
        top = MARGIN + header + row * step
        pen.line((MARGIN, top - GAP // 2, sheet.width - MARGIN, top - GAP // 2), fill=RULE)
        pen.text((MARGIN, top + 26), fitted(pen, name, LABEL - 12), INK, font(15))
        pen.text((MARGIN, top + 48), f"{len(by_class[name])} kept", "#777777", font(12))
        for column, exemplar in enumerate(by_class[name][:columns]):
            sheet.paste(thumbnail(folder / EXEMPLARS / exemplar.file), (MARGIN + LABEL + column * step, top))
    if len(shown) < len(by_class):
        pen.text((MARGIN, height - MARGIN - 14), f"and {len(by_class) - len(shown)} more classes", "#777777", font(13))
    content = io.BytesIO()
    sheet.save(content, "PNG", optimize=True)
    return content.getvalue()


def thumbnail(path: Path) -> Image.Image:
    """A kept photo, small; a grey square where it cannot be read."""
    try:
        with open_image(path) as image:
            way = Image.Resampling.NEAREST if image.width < THUMBNAIL else Image.Resampling.LANCZOS
            return image.convert("RGB").resize((THUMBNAIL, THUMBNAIL), way)
    except Exception:  # decoders fail in many ways on broken bytes
        return Image.new("RGB", (THUMBNAIL, THUMBNAIL), RULE)


def fitted(pen: ImageDraw.ImageDraw, name: str, width: int) -> str:
    """The name, cut where it is wider than its column."""
    if pen.textlength(name, font(15)) <= width:
        return name
    while name and pen.textlength(name + "…", font(15)) > width:
        name = name[:-1]
    return name + "…"


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The letters that matplotlib brings along."""
    try:
        from matplotlib import get_data_path

        return ImageFont.truetype(str(Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"), size)
    except (ImportError, OSError):
        return ImageFont.load_default(size)
