"""The version of the arithmetic."""

NUMERICS_VERSION = 1
"""Raised whenever a change alters results. It is part of every run's identity, so that numbers made by different
arithmetic never share a folder."""
