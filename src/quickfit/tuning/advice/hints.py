"""What to type next: commands that name what the user has, not an example."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

_STEP_S = 30


def budget_words(seconds: float, *, is_command: bool) -> str:
    """Return how to ask for a budget, rounded up: on the command line, or in Python."""
    rounded = math.ceil(seconds / _STEP_S) * _STEP_S
    if not is_command:
        return f"budget_s={rounded}"
    return f"--budget {rounded // 60}m" if rounded % 60 == 0 else f"--budget {rounded}s"


def input_hint(target: Any) -> str:  # Any: what `advise` takes
    """Return how to find out where the time of the input goes."""
    file = _file_of(target) if isinstance(target, str) else None
    if file is None:
        return "`quickfit.data.measure(dataset)` in Python says where its time goes."
    return (
        f"`quickfit bench {file}:FUNCTION` says where its time goes, with a FUNCTION that returns"
        " the dataset alone; in Python, `quickfit.data.measure(dataset)`."
    )


def _file_of(target: str) -> str | None:
    """Return the file of `module:function`, as it is named from here; None where it is not."""
    place = target.rpartition(":")[0]
    name = place if place.endswith(".py") else f"{place.replace('.', '/')}.py"
    return name if Path(name).is_file() else None
