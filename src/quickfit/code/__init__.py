"""The one reader and editor of the user's source: a `Program` of `Module`s, and edits of them."""

from __future__ import annotations

from quickfit.code.module import Module
from quickfit.code.program import Program

__all__ = ["Module", "Program"]
