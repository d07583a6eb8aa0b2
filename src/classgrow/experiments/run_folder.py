"""What lies in a run's folder: claimed before it starts, cleared when it starts afresh."""

from __future__ import annotations

from pathlib import Path

from classgrow.checkpoint import earlier_than
from classgrow.disk import remove_unfinished
from classgrow.errors import ClassgrowError
from classgrow.experiments.lock import LOCK_FILE
from classgrow.progress import Progress
from classgrow.records.folder import FAILURE_FILE, make_writable
from classgrow.records.record import RECORD_FILE

CHECKPOINT_FILE = "checkpoint.safetensors"
CHECKPOINTS = (CHECKPOINT_FILE, earlier_than(Path(CHECKPOINT_FILE)).name)
"""The newest and the one before."""
OURS = {RECORD_FILE, *CHECKPOINTS, FAILURE_FILE, LOCK_FILE}


def claim_folder(folder: Path) -> None:
    """Make the run's folder, or say why it cannot be."""
    make_writable(folder)
    others = [path.name for path in folder.iterdir() if path.name not in OURS and not path.name.startswith(".")]
    if others and not (folder / RECORD_FILE).exists():
        raise ClassgrowError(f"{folder} holds something else ({others[0]}): choose another `output`.")


def clear_folder(folder: Path, progress: Progress, again: bool) -> None:
    """Remove what dead processes left unfinished; with `again` all that an earlier start of the run left, readable or
    not. The folder's lock is held."""
    remove_unfinished(folder)
    if not again:
        return
    earlier = [folder / name for name in (RECORD_FILE, *CHECKPOINTS, FAILURE_FILE) if (folder / name).exists()]
    for path in earlier:
        path.unlink()
    if earlier:
        progress.say(f"Removed {' and '.join(path.name for path in earlier)} in {folder}: the run starts afresh.")
