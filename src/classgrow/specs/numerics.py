"""The version of the arithmetic.

It is raised whenever a change alters results, and is part of every run's identity: numbers made by different
arithmetic never share a folder.
"""

NUMERICS_VERSION = 1
"""Of what all methods share."""

OF_METHOD = {"icarl": 1, "norm-icarl": 1, "fgp-dist-kl": 1}
"""Changes that touched one method alone, counted. icarl, norm-icarl: the old model's sigmoids became the targets;
fgp-dist-kl: its distillation is divided by the classes seen."""


def numerics_of(method: str) -> int:
    """The version for one method's runs."""
    return NUMERICS_VERSION + OF_METHOD.get(method, 0)
