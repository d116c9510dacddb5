"""The words that run a target once more, for messages that name a command to paste."""

from __future__ import annotations

import shlex

from quickfit.launch.target import Target


def words_of(target: Target) -> str:
    """Return a script or a module with its arguments, as one types them."""
    named = ["-m", target.module] if target.module is not None else [target.script or target.name]
    return shlex.join([*named, *target.args])
