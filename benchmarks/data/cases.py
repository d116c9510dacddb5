"""What a benchmark of `quickfit.data` measures: its cases, and which of them can run here."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from dataclasses import dataclass, field
from typing import Any

# In this order in every report.
PACKAGES = (
    "quickfit",
    "tensorflow-cpu",
    "tensorflow",
    "keras",
    "torch",
    "grain",
    "array_record",
    "webdataset",
    "mosaicml-streaming",
    "opencv-python-headless",
    "pillow",
    "simplejpeg",
    "numpy",
)


@dataclass(frozen=True)
class Case:
    """One way to do the work, run in a process of its own.

    Args:
        name: what the table calls it.
        make: the function that makes it, as `module:function`.
        options: keyword arguments of that function; plain values only.
        needs: packages without which it cannot run.
        checked: keyword arguments of the check of its output.
    """

    name: str
    make: str
    options: dict[str, Any] = field(default_factory=dict)  # Any: what JSON holds
    needs: tuple[str, ...] = ()
    checked: dict[str, Any] = field(default_factory=dict)

    def missing(self) -> list[str]:
        """Return the packages it needs and does not find."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


def versions() -> dict[str, str]:
    """Return the versions of what is measured, and the number of cores."""
    found = {"cores": str(len(os.sched_getaffinity(0)))}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
