"""classgrow for scikit-learn: a classifier that goes into pipelines, cross-validation and grid searches.

Only those who import this room need scikit-learn for it.
"""

from classgrow.sklearn.classifier import SKIPPED_CHECKS, ClassGrowClassifier

__all__ = ["SKIPPED_CHECKS", "ClassGrowClassifier"]
