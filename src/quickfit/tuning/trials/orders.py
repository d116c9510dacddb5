"""What a child is told first: what to build, and with which setting."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickfit.tuning.trials.recipes import Kind
from quickfit.tuning.trials.settings import Setting


@dataclass(frozen=True)
class Order:
    """One recipe and one setting, as a child knows them.

    Args:
        kind: where the model and the data come from.
        name: what to call it in messages; for `Kind.NAME` also where it is.
        path: of the pickled function, or of the folder with the model and its data.
        batch_size: samples per step where the data are arrays.
        setting: what is different from the user's own way.
        scratch: a folder that is removed afterwards.
        limit_bytes: how much memory may be taken beyond what Python and TensorFlow need.
        parent: the number of the process that asked.
    """

    kind: Kind
    name: str
    path: Path
    batch_size: int | None
    setting: Setting
    scratch: Path
    limit_bytes: int | None
    parent: int


def read_order(plain: dict[str, Any]) -> Order:  # Any: JSON
    """Return the order that came as JSON."""
    recipe = plain["recipe"]
    return Order(
        kind=Kind(recipe["kind"]),
        name=recipe["name"],
        path=Path(recipe["path"]),
        batch_size=recipe["batch_size"],
        setting=Setting.from_json(plain["setting"]),
        scratch=Path(plain["scratch"]),
        limit_bytes=plain["limit_bytes"],
        parent=plain["parent"],
    )
