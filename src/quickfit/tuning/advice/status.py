"""One line that says what is being done, for somebody who waits in a terminal or a notebook."""

from __future__ import annotations

from typing import TextIO

from quickfit import terminal


class Line:
    """A line that is written over and over, and taken away in the end.

    Args:
        stream: where to; nothing is written where nobody waits, such as in a log file.
    """

    def __init__(self, stream: TextIO | None) -> None:
        is_watched = stream is not None and _is_watched(stream)
        self._line = terminal.StatusLine(stream) if stream is not None and is_watched else None

    def tell(self, text: str) -> None:
        """Show a text in place of the one before."""
        if self._line is not None:
            self._line.show(f"quickfit: {text}")

    def clear(self) -> None:
        """Take the line away."""
        if self._line is not None:
            self._line.clear()


def _is_watched(stream: TextIO) -> bool:
    # A notebook's stream is no terminal, and yet a person looks at it.
    return stream.isatty() or type(stream).__module__.startswith("ipykernel")
