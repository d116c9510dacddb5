"""Warnings that point at the user's line, not at ours or at a library's."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
import weakref

from quickfit import terminal

# What may run between a line of the user and the warning that it leads to.
_PACKAGES = ("quickfit", "tensorflow", "keras")
_MODULES = tuple(str(module.__file__) for module in (contextlib, threading, weakref))


def warn(text: str) -> None:
    """Warn of something, at the innermost line that is not of a library."""
    libraries = (*_MODULES, *_folders())
    level = 1
    frame = sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(libraries):
        frame = frame.f_back
        level += 1
    warnings.warn(f"quickfit: {terminal.escape(text)}", stacklevel=level)


def _folders() -> list[str]:
    files = [getattr(sys.modules.get(name), "__file__", None) for name in _PACKAGES]
    return [os.path.dirname(file) + os.sep for file in files if file]
