"""Runs a method over phases: learn, predict, evaluate, forget."""

from classgrow.learner.answers import Evaluation
from classgrow.learner.learner import Learner

__all__ = ["Evaluation", "Learner"]
