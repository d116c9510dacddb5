"""Everything quickfit writes for people goes through here: nothing in it can steer a terminal.

File names, layer names, source lines, recordings and messages of exceptions were written by
someone else. What does not print (control characters, escape sequences, bidirectional overrides,
invisible spaces) is shown as a Python escape such as `\\x1b`; characters that the stream's encoding
lacks are spelled out. Colours and the line that is written over are ours alone. The output of the
user's script never passes here.
"""

from __future__ import annotations

import os
import re
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from quickfit.standard import standard

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

# Scripts that stack marks use up to three; a pile of them paints over the lines around it.
MAX_COMBINING = 3
_ASCII = str.maketrans({"×": "x", "µ": "u", "·": "-", "–": "-", "—": "-", "…": "...", "±": "+-"})
# How rich writes a colour: the only sequence that passes, and only where we have painted.
_PAINT = re.compile(r"(\x1b\[[0-9;]*m)")


def escape(text: str, *, keep: str = "\n\t") -> str:
    """Return `text` with everything that does not print as a Python escape.

    Args:
        text: from anywhere.
        keep: what may stay although it does not print.
    """
    if text.isascii() and text.isprintable():
        return text
    # Rarely needed, and this module is loaded into every watched script.
    unicodedata = standard("unicodedata")

    shown, marks = [], 0
    for char in text:
        marks = marks + 1 if unicodedata.combining(char) else 0
        is_plain = (char.isprintable() and marks <= MAX_COMBINING) or char in keep
        shown.append(char if is_plain else char.encode("unicode_escape").decode("ascii"))
    return "".join(shown)


def escape_json(text: str) -> str:
    """Return JSON that means the same, with everything that does not print as `\\uXXXX`."""
    if text.isascii():
        return text  # JSON itself escapes what does not print in ASCII, but for one character
    return "".join(c if c.isprintable() or c in "\n\t" else _json_escape(c) for c in text)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def encodable(text: str, encoding: str | None) -> str:
    """Return `text` in characters that `encoding` has, so that writing it cannot fail."""
    try:
        text.encode(encoding or "utf-8")
    except LookupError:
        encoding = "ascii"
    except UnicodeEncodeError:
        pass
    else:
        return text
    known = encoding or "utf-8"
    return text.translate(_ASCII).encode(known, "backslashreplace").decode(known)


def write(stream: TextIO | None, text: str, *, painted: bool = False) -> None:
    """Write text to a stream, harmless and in its characters.

    Args:
        stream: where to; None where there is none.
        text: what to write.
        painted: the text has colours of ours, put around pieces that were escaped before.
    """
    if stream is None:  # closed by who started us: Python itself prints nothing then
        return
    if painted:
        parts = _PAINT.split(text)
        text = "".join(part if place % 2 else escape(part) for place, part in enumerate(parts))
    else:
        text = escape(text)
    stream.write(encodable(text, getattr(stream, "encoding", None)))
    stream.flush()


def say(text: str, stream: TextIO | None = None) -> None:
    """Write a line of quickfit's to stderr, or to another stream."""
    write(sys.stderr if stream is None else stream, f"quickfit: {text}\n")


def write_patch(stream: TextIO | None, data: bytes) -> None:
    """Write a patch: byte by byte for a program such as `git apply`, escaped for a person."""
    if stream is None:
        return
    stream.flush()
    buffer = getattr(stream, "buffer", None)
    if buffer is None or stream.isatty():
        write(stream, data.decode(errors="replace").replace("\r\n", "\n"))
        return
    buffer.write(data)
    buffer.flush()


class StatusLine:
    """A line that is written over and over, and taken away in the end.

    Args:
        stream: a terminal, or what behaves like one.
    """

    WIDTH = 99

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._used = 0

    def show(self, text: str) -> None:
        """Show a text in place of the one before."""
        line = encodable(escape(text, keep=""), getattr(self._stream, "encoding", None))
        line = line[: self.WIDTH]
        self._stream.write("\r" + line.ljust(self._used))
        self._stream.flush()
        self._used = len(line)

    def clear(self) -> None:
        """Take the line away."""
        if self._used:
            self._stream.write("\r" + " " * self._used + "\r")
            self._stream.flush()
            self._used = 0


def ask(question: str) -> bool | None:
    """Ask a person a question and return whether the answer is yes; None without a terminal."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return None
    write(sys.stderr, f"{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def wants_color(stream: TextIO) -> bool:
    """Tell whether `stream` is a terminal on which colour was not declined (no-color.org)."""
    declined = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not declined


def console(file: TextIO, **options: Any) -> Console:  # those of rich's Console
    """Return a console of rich that escapes every text it is given; markup means nothing."""
    from rich.console import Console
    from rich.segment import Segment

    class HarmlessConsole(Console):
        """Escapes what is shown; colours come from styles, which are ours."""

        def render(self, *args: Any, **named: Any) -> Iterable[Segment]:  # as rich has them
            for text, style, control in super().render(*args, **named):
                yield Segment(text if control else escape(text), style, control)

    usual = {"highlight": False, "markup": False, "emoji": False}
    return HarmlessConsole(file=file, **(usual | options))


def show_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Write the traceback of a bug of ours, as Python would; a `sys.excepthook`."""
    import traceback

    write(sys.stderr, "".join(traceback.format_exception(kind, error, trace)))
