"""stub"""

from __future__ import annotations

from pathlib import Path

from classgrow.photos.saved import Content


def write_card(new: Path, content: Content) -> None:
    """README.md"""
