"""Our own loaders, called as a user calls them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from data.outputs import BATCH, SIDE


def images(folder: Path, **options: Any) -> Iterable[Any]:
    """`quickfit.data.images` on the original files; `options` are its own."""
    from quickfit import data

    found: Iterable[Any] = data.images(folder, size=(SIDE, SIDE), batch=BATCH, **options)
    return found


def records(folder: Path, *, pack: str, **options: Any) -> Iterable[Any]:
    """`quickfit.data.records` on a pack of the photographs; `options` are its own."""
    from quickfit import data

    found: Iterable[Any] = data.records(pack, batch=BATCH, **options)
    return found
