"""Class-incremental image learning."""

__version__ = "0.1.0"
