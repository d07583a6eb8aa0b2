"""The command that repeats a run, from its record."""

from __future__ import annotations

import shlex

from classgrow.records.record import Record
from classgrow.records.words import printable
from classgrow.specs.spec import command


def repeat_command(record: Record) -> str | None:
    """With memory and phases written out, so that a later default cannot change them, and executed as it was.
    None if this version does not know one of the settings."""
    spec = record.spec
    if spec is None:
        return None
    sizes, how = record.phase_sizes, record.execution
    given: dict[str, int | None] = {"memory": record.resolved.memory, "first": sizes[0]}
    given["step"] = sizes[1] if len(sizes) > 1 else None
    gaps = {name: value for name, value in given.items() if getattr(spec, name) is None}
    words = [command(spec.model_copy(update=gaps)), f"--threads {how.threads}"]
    if how.processes > 1:
        words.append(f"--processes {how.processes}")
    words += [f"--device {shlex.quote(how.device)}", f"--compile {'on' if how.compiled else 'off'}"]
    words.append(f"--precision {how.precision}")
    return printable(" ".join(words))
