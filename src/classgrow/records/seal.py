"""A record's seal: a digest over its content, so that no flipped bit passes for a result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from classgrow.records.reading import read_json

SEAL = "digest"
"""The entry that holds it. Records of versions before it have none: they are read, and called not sealed."""


def seal_of(content: Mapping[str, object]) -> str:
    """The digest over all entries but the seal itself; blanks and the order of entries do not count."""
    values = {name: value for name, value in content.items() if name != SEAL}
    return hashlib.blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=16).hexdigest()


def is_broken(content: object) -> bool:
    """Whether the content has a seal, and it is of another content."""
    return isinstance(content, dict) and SEAL in content and content[SEAL] != seal_of(content)


def is_sealed(path: Path) -> bool:
    """Whether the record in a file has a seal and agrees with it."""
    content = read_json(path, path.name)
    return isinstance(content, dict) and SEAL in content and not is_broken(content)
