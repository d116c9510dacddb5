"""Says where something stands in the user's text, as one says it."""

from __future__ import annotations

import os

from quickfit.fixes.script import Script


def said(script: Script, line: int) -> str:
    """Return a place: `train.py:41`."""
    return f"{os.path.basename(script.file)}:{line}"
