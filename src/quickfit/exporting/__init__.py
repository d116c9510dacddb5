"""A diagnosis where runs are logged: TensorBoard, MLflow, Weights & Biases, Perfetto.

What is written are the series and figures of `exporting.series`, made from a diagnosis with its
details: nothing is measured or computed here again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from quickfit.errors import UsageError
from quickfit.findings import Diagnosis

__all__ = ["DESTINATIONS", "Destination", "destination_of", "export"]


@dataclass(frozen=True)
class Destination:
    """Where a run can be logged.

    Args:
        package: that has to be installed; empty for none.
        extra: of quickfit that installs it.
        default: the place where it goes unless one is named, with the name of the run in it; empty
            for what the package itself is set to.
    """

    package: str
    extra: str
    default: str


DESTINATIONS = {
    "tensorboard": Destination("tensorboard", "tensorboard", "{}.tensorboard"),
    "mlflow": Destination("mlflow", "mlflow", ""),
    "wandb": Destination("wandb", "wandb", "."),
    "perfetto": Destination("", "", "{}.perfetto.json"),
}


def destination_of(name: str) -> Destination:
    """Return a destination by its name, if what it needs is installed.

    Raises:
        UsageError: there is none of that name, or its package is not installed.
    """
    found = DESTINATIONS.get(name)
    if found is None:
        raise UsageError(
            f"{name!r} is no place that runs are exported to.\n"
            f"One of these is expected: {', '.join(DESTINATIONS)}."
        )
    if found.package and find_spec(found.package) is None:
        raise UsageError(
            f"exporting to {name} needs the package {found.package}, which is not installed.\n"
            f"Install it:\n    pip install 'quickfit[{found.extra}]'"
        )
    return found


def export(
    diagnosis: Diagnosis, to: str, place: str = "", *, after_s: float = -1.0, replaces: bool = False
) -> str:
    """Write a run to a destination; return what was written, in words.

    Args:
        diagnosis: of the run, with its details.
        to: the name of a destination.
        place: a folder, a file or an address, as the destination needs it; empty for its usual one.
        after_s: leave out what happened before this moment of the run: it was logged already.
        replaces: replace a file that is no export of ours.

    Raises:
        UsageError: there is no such destination, it is not installed, or it takes no such place.
    """
    found = destination_of(to)
    name = diagnosis.run.rstrip("/").rpartition("/")[2].removesuffix(".qfrun") or "run"
    write: Callable[..., str] = import_module(f"quickfit.exporting.{to}").write
    usual = found.default.format(name)
    return write(diagnosis, place or usual, after_s=after_s, replaces=replaces)
