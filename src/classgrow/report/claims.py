"""What the paper claims, what was run, and what came out: one table, made from the records alone.

`python -m classgrow.report.claims RESULTS` prints it; docs/results.md holds it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from classgrow.records.folder import find_records
from classgrow.records.official import official_records
from classgrow.report.gather import Results, gather
from classgrow.report.headline import AS_AUTHORS, FAST, RULES, furthest
from classgrow.report.headline import SETTING as SCRATCH_2K
from classgrow.report.names import MISSING, label
from classgrow.report.paper_values import paper_value
from classgrow.report.runs import Regimen, Run, run_of
from classgrow.report.settings import Setting
from classgrow.report.tables import LOWER_IS_BETTER
from classgrow.report.words import image_share
from classgrow.specs.paper import BATCH, METHODS, Metric
from classgrow.specs.reduction import PaperSetting

MARGIN = 2.5
"""Points: two runs that differ by rounding alone were up to 2.4 apart, so a smaller difference settles nothing."""
NEAR = 3.0
"""Points: a phase of FGP's curve that is further from the authors' has a cause."""

WORDS: dict[Metric, str] = {
    "final": "{} ends ahead of {}",
    "average": "{} is ahead of {} on average",
    "forgetting": "{} forgets less than {}",
    "mad": "the phases of {} are more even than those of {} (MAD)",
}
SCRATCH_1K = Setting.of_paper(PaperSetting("cifar100", 10, 10, 1000))
FROM_50_2K = Setting.of_paper(PaperSetting("cifar100", 50, 10, 2000))
AT_ONCE = Setting.of_paper(BATCH)


@dataclass(frozen=True)
class Row:
    """A line of the table. `runs` are those its numbers come from."""

    claim: str
    ran: str
    ours: str
    theirs: str
    verdict: str
    runs: tuple[Run, ...] = ()


def open_row(claim: str, theirs: str) -> Row:
    return Row(claim, "not yet", MISSING, theirs, "open")


@dataclass(frozen=True)
class Better:
    """`method` does better than `rival` by a metric, in a setting of the paper; `where` the paper says so."""

    method: str
    rival: str
    metric: Metric
    setting: Setting
    where: str

    @property
    def claim(self) -> str:
        start = "From 50 classes" if self.setting.sizes[0] == 50 else "From scratch"
        name = label(self.rival)
        rival = f"its variant “{name.removeprefix('FGP, ')}”" if name.startswith("FGP, ") else name
        words = WORDS[self.metric].format(label(self.method), rival)
        return f"{start}, {self.setting.memory:,} images: {words} ({self.where})"

    @property
    def theirs(self) -> str:
        values = [paper_value(self.metric, self.setting, one) for one in (self.method, self.rival)]
        return " against ".join(f"{value:.1f}" for value in values if value is not None) or "ahead (a figure)"

    def row(self, results: Results) -> Row:
        """From runs of both that were trained in the same way and share class orders."""
        for regimen in (AS_AUTHORS, FAST):
            pairs = paired(results, regimen, self)
            if pairs:
                return self._found(pairs)
        return open_row(self.claim, self.theirs)

    def _found(self, pairs: list[tuple[Run, Run]]) -> Row:
        mine, other = (
            sum(100 * (getattr(run, self.metric) or 0.0) for run in runs) / len(runs)
            for runs in zip(*pairs, strict=True)
        )
        ahead = other - mine if self.metric in LOWER_IS_BETTER else mine - other
        runs = tuple(dict.fromkeys(run for pair in pairs for run in pair))
        return Row(
            self.claim, ran(runs), f"{mine:.1f} against {other:.1f}", self.theirs, verdict(ahead, len(pairs)), runs
        )


def paired(results: Results, regimen: Regimen, claim: Better) -> list[tuple[Run, Run]]:
    """Finished runs of both methods by class order, where both have the number."""
    first, second = (results.group(regimen, claim.setting, one) for one in (claim.method, claim.rival))
    others = {run.pair: run for run in second}
    pairs = [(run, others[run.pair]) for run in first if run.pair in others]
    return [pair for pair in pairs if all(getattr(run, claim.metric) is not None for run in pair)]


def verdict(ahead: float, n: int) -> str:
    if abs(ahead) < MARGIN:
        return f"open: within {MARGIN:g} points (n = {n})"
    return f"{'confirmed' if ahead > 0 else 'refuted'} (n = {n})"


def ran(runs: Iterable[Run]) -> str:
    """ "order 0, 20 % of the image-steps", or the full length."""
    runs = list(runs)
    orders = sorted({run.order for run in runs})
    length = "full length" if runs[0].regimen == AS_AUTHORS else f"{image_share(runs) or 'a part'} of the image-steps"
    return f"order{'s' * (len(orders) > 1)} {', '.join(orders)}, {length}"


def curve_row(results: Results) -> Row:
    """FGP's curve at its authors' settings beside that of the same order in their files."""
    claim = "From scratch, 2,000 images: FGP's curve over ten phases (the authors' files)"
    ours = next(iter(furthest(results, AS_AUTHORS)), None)
    theirs = authors(ours.class_order if ours else None)
    if ours is None or theirs is None:
        return open_row(claim, "47.4 after 100 classes (order 0)")
    pairs = list(zip(*(dict(run.rule_curves)["nearest"] for run in (ours, theirs)), strict=False))
    off = max(abs(100 * (mine or 0.0) - 100 * (other or 0.0)) for mine, other in pairs)
    far = f"{len(pairs)} of {len(SCRATCH_2K.sizes)} phases, {off:.1f} points off at most"
    within = off <= NEAR
    settled = ("confirmed (n = 1)" if within else "refuted (n = 1)") if len(pairs) == len(SCRATCH_2K.sizes) else "open"
    texts = (
        f"{100 * (values[-1] or 0.0):.1f} after {ours.classes_seen[-1]} classes" for values in zip(*pairs, strict=True)
    )
    mine, other = texts
    return Row(claim, f"order {ours.order}, full length, {far}", mine, other, settled, (ours,))


def head_row(results: Results) -> Row:
    """The head alone forgets what nearest means keep."""
    claim = "From scratch, 2,000 images: nearest means end ahead of FGP's own head (the authors' files)"
    every = authors(None)
    assert every is not None
    names = [rule for rule, _ in RULES]

    def ends(run: Run) -> list[float]:
        return [100 * (dict(run.rule_curves)[name][-1] or 0.0) for name in names]

    for regimen in (AS_AUTHORS, FAST):
        run = next((run for run in furthest(results, regimen) if run.complete), None)
        if run is not None:
            (mine, head), theirs = ends(run), ends(authors(run.class_order) or every)
            beside = " against ".join(f"{value:.1f}" for value in theirs)
            return Row(claim, ran([run]), f"{mine:.1f} against {head:.1f}", beside, verdict(mine - head, 1), (run,))
    return open_row(claim, " against ".join(f"{value:.1f}" for value in ends(every)))


def batch_row(results: Results) -> Row:
    """Joint training of everything at once: how even its groups are."""
    claim = "All 100 classes at once, joint training: MAD of phase accuracy (in the text)"
    theirs = paper_value("mad", AT_ONCE, "joint") or 0.0
    for regimen in (AS_AUTHORS, FAST):
        runs = results.group(regimen, AT_ONCE, "joint")
        found = results.value(regimen, AT_ONCE, "joint", "mad")
        if found is not None:
            ours = 100 * found.mean
            settled = f"{'confirmed' if abs(ours - theirs) <= 1 else 'refuted'} (n = {len(runs)})"
            return Row(claim, ran(runs), f"{ours:.1f}", f"{theirs:.1f}", settled, runs)
    return open_row(claim, f"{theirs:.1f}")


def authors(class_order: tuple[int, ...] | None) -> Run | None:
    """The authors' run of a class order, of the first unless one is named."""
    found = [run for run in map(run_of, official_records()) if run.setting == SCRATCH_2K]
    return next((run for run in found if class_order in (None, run.class_order)), None)


RIVALS = tuple(method for method in METHODS if method != "fgp")
CLAIMS: tuple[Callable[[Results], Row], ...] = (
    curve_row,
    head_row,
    *(Better("fgp", rival, "final", SCRATCH_2K, "table 1").row for rival in RIVALS),
    *(Better("fgp", rival, "final", SCRATCH_1K, "table 1").row for rival in ("icarl", "eeil")),
    Better("icarl", "fgp", "forgetting", SCRATCH_2K, "table A2").row,
    Better("lucir", "fgp", "forgetting", SCRATCH_2K, "table A2").row,
    *(Better("fgp", rival, "mad", FROM_50_2K, "figure 5").row for rival in ("lucir", "icarl")),
    Better("lucir", "fgp", "final", FROM_50_2K, "table 1").row,
    Better("fgp", "icarl", "final", FROM_50_2K, "table 1").row,
    Better("fgp", "fgp-cosine", "average", SCRATCH_2K, "figure 7").row,
    Better("fgp", "fgp-ce", "average", SCRATCH_2K, "figure 6").row,
    Better("fgp", "fgp-uniform", "average", SCRATCH_2K, "figure 9").row,
    batch_row,
)


def claim_rows(results: Results) -> list[Row]:
    """Every claim, settled or open."""
    return [row_of(results) for row_of in CLAIMS]


def markdown_table(rows: Iterable[Row], link: Callable[[Run], str]) -> str:
    """The table; `link` says where the record of a run lies."""
    lines = ["| claim of the paper | what we ran | ours | theirs | verdict |", "| --- | --- | ---: | ---: | --- |"]
    for row in rows:
        records = ", ".join(f"[{run.identity[:6]}]({link(run)})" for run in row.runs)
        what = f"{row.ran} ({records})" if records else row.ran
        lines.append(f"| {row.claim} | {what} | {row.ours} | {row.theirs} | {row.verdict} |")
    return "\n".join(lines) + "\n"


def table_of(results_folder: Path, prefix: str = "../results") -> str:
    """The table of a folder of records, with links that hold from docs/."""
    found = {run_of(record).identity: run_of(record) for record in find_records(results_folder)}
    places = {path.parent.name: path.relative_to(results_folder) for path in results_folder.rglob("record.json")}
    rows = claim_rows(gather(found.values()))
    return markdown_table(rows, lambda run: f"{prefix}/{places[run.identity].as_posix()}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python -m classgrow.report.claims RESULTS")
    print(table_of(Path(sys.argv[1])), end="")
