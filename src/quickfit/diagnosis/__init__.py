"""From a recording to a diagnosis: asks every cause, ranks what they found, says it honestly."""

from __future__ import annotations

from pathlib import Path

from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import Diagnosis
from quickfit.recording.reader import read

__all__ = ["diagnose", "diagnose_recording"]


def diagnose(path: Path, *, with_details: bool = False) -> Diagnosis:
    """Return the diagnosis of a recording: a run's folder, or the file of one process.

    Args:
        path: where it is.
        with_details: with what a page draws beside the report, too.

    Raises:
        RecordingError: the recording cannot be read.
    """
    return diagnose_recording(read(path), with_details=with_details)
