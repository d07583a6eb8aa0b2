"""What stands in one line above a table: how much of the paper's training, in which precision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from classgrow.records.record import Record
from classgrow.report.runs import run_of
from classgrow.report.words import image_share, words


def fast(record: Record, share: float) -> Record:
    """The same with the fast profile, after so much of FGP's 70 epochs over 5,000 images in every phase."""
    assert record.spec is not None
    phases = [
        phase.model_copy(update={"images_per_second": share * 70 * 5000 / phase.seconds.train})
        for phase in record.phases
    ]
    return record.model_copy(
        update={
            "phases": phases,
            "resolved": replace(record.resolved, profile="fast"),
            "spec": record.spec.model_copy(update={"profile": "fast"}),
        }
    )


def test_the_fast_profile_on_the_papers_protocol_says_its_share_of_the_image_steps(make) -> None:  # type: ignore[no-untyped-def]
    run = run_of(fast(make("fgp", "0", memory=2000), 0.2))
    assert (run.image_steps, run.full_image_steps) == (pytest.approx(700_000), 3_500_000)
    assert words([run]) == (
        "The paper's protocol, 20 % of its image-steps (the fast profile); CIFAR-100 only; 1 of 5 class orders. "
        "Trained in float32."
    )


def test_methods_with_other_shares_give_a_range_and_other_settings_are_no_protocol_of_the_paper(make) -> None:  # type: ignore[no-untyped-def]
    small: dict[str, Any] = {"classes": 20, "first": 4, "step": 4, "memory": 200}
    runs = [run_of(fast(make(name, "0", **small), share)) for name, share in (("fgp", 0.2), ("eeil", 0.231))]
    assert words(runs).startswith("Shortened: 20 to 23 % of FGP's own image-steps (the fast profile); CIFAR-100 only;")


def test_without_times_nothing_is_said_of_image_steps(make) -> None:  # type: ignore[no-untyped-def]
    record = make("fgp", "0")
    phases = [phase.model_copy(update={"images_per_second": None}) for phase in record.phases]
    assert image_share([run_of(record.model_copy(update={"phases": phases}))]) is None


def test_the_precision_is_said_where_it_is_not_float32_and_of_the_papers_settings(make) -> None:  # type: ignore[no-untyped-def]
    def mixed(record: Record) -> Record:
        return record.model_copy(update={"execution": record.execution.model_copy(update={"precision": "bfloat16"})})

    ours, paper = make("fgp", classes=20, first=4, step=4, memory=200), make("fgp", "1")
    assert "Trained" not in words([run_of(ours)])
    assert words([run_of(mixed(ours))]).endswith("Trained in bfloat16.")
    assert words([run_of(paper), run_of(mixed(make("fgp", "0")))]).endswith("Trained in float32 and in bfloat16.")
