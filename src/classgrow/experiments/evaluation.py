"""What a learner can do after a phase: tested on all classes seen, by every rule."""

from __future__ import annotations

import time

import numpy as np
import torch
from numpy.typing import NDArray

from classgrow import metrics
from classgrow.data.labelled import LabelledImages
from classgrow.learner import Learner
from classgrow.memory import HELD_OUT, TRAIN
from classgrow.records.record import PhaseRecord, RuleResult, Seconds
from classgrow.steps.phase import PhaseLog


def evaluate(
    learner: Learner, test: LabelledImages, log: PhaseLog, learned_seconds: float
) -> tuple[PhaseRecord, list[list[int]]]:
    """Test on all classes seen, by every rule; the confusion matrix is that of the method's own rule."""
    started = time.perf_counter()
    seen = len(learner.state.classes)
    tables = {
        rule: metrics.confusion(test.labels.numpy(), predicted.numpy(), seen)
        for rule, predicted in learner.predictions(test).items()
    }
    seconds = time.perf_counter() - started
    memory = learner.state.memory
    result = PhaseRecord(
        phase=learner.state.phase,
        classes_seen=seen,
        rules={rule: rule_result(table) for rule, table in tables.items()},
        test_counts=torch.bincount(test.labels, minlength=seen).tolist(),
        processes=learner.runtime.processes,
        exemplars=memory.count(TRAIN),
        held_out=memory.count(HELD_OUT),
        notes=log.notes,
        training_images=log.training_images,
        loss=log.loss,
        seconds=Seconds(
            train=log.train_seconds,
            remember=log.remember_seconds,
            evaluate=seconds,
            total=learned_seconds + seconds,
        ),
        images_per_second=log.images / log.train_seconds if log.train_seconds else None,
    )
    return result, tables[learner.method.rule.name].tolist()


def rule_result(counts: NDArray[np.int64]) -> RuleResult:
    """Accuracies from a confusion matrix."""
    return RuleResult(accuracy=float(np.trace(counts) / counts.sum()), per_class=metrics.per_class_accuracy(counts))
