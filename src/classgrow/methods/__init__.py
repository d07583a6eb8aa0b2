"""The catalogue: one paper, one screen each."""

from classgrow.methods.catalogue import METHODS, build_method

__all__ = ["METHODS", "build_method"]
