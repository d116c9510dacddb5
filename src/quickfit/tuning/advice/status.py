"""One line that says what is being done, for somebody who waits in a terminal or a notebook."""

from __future__ import annotations

from typing import TextIO

_WIDTH = 99


class Line:
    """A line that is written over and over, and taken away in the end.

    Args:
        stream: where to; nothing is written where nobody waits, such as in a log file.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream if stream is not None and _is_watched(stream) else None
        self._used = 0

    def tell(self, text: str) -> None:
        """Show a text in place of the one before."""
        if self._stream is not None:
            line = f"quickfit: {text}"[:_WIDTH]
            self._stream.write("\r" + line.ljust(self._used))
            self._stream.flush()
            self._used = len(line)

    def clear(self) -> None:
        """Take the line away."""
        if self._stream is not None and self._used:
            self._stream.write("\r" + " " * self._used + "\r")
            self._stream.flush()
            self._used = 0


def _is_watched(stream: TextIO) -> bool:
    # A notebook's stream is no terminal, and yet a person looks at it.
    return stream.isatty() or type(stream).__module__.startswith("ipykernel")
