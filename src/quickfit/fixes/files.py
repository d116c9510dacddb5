"""The user's files as bytes and as text: whatever encoding and line ends they have come back."""

from __future__ import annotations

import codecs
import hashlib
import io
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

from quickfit import trust
from quickfit.errors import FixError
from quickfit.fixes.change import Edit, is_inside, patched
from quickfit.source.calls import parsed


@dataclass(frozen=True)
class SourceFile:
    """A Python file as it is on disk.

    Args:
        path: as the recording names it.
        data: its bytes.
        encoding: as Python would read it.
    """

    path: str
    data: bytes
    encoding: str

    @property
    def text(self) -> str:
        """Its text, with the line ends it has."""
        return self.data.decode(self.encoding)

    @property
    def sha256(self) -> str:
        """The digest that a recording keeps of it."""
        return hashlib.sha256(self.data).hexdigest()

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """Return its bytes with edits made.

        Raises:
            FixError: the result would not be Python, or cannot be written in its encoding.
        """
        own = [edit for edit in edits if edit.file == self.path]
        if not all(is_inside(edit, self.text) for edit in own):
            raise FixError(f"{self.path}: the fix names a place that this file does not have.")
        text = patched(self.text, own)
        if parsed(text.replace("\r\n", "\n")) is None:
            raise FixError(
                f"{self.path}: the edited file would not be valid Python, so nothing was changed.\n"
                "This is a bug in quickfit; please report it with the lines of the fix."
            )
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise FixError(
                f"{self.path}: the fix cannot be written in the file's encoding"
                f" ({self.encoding}: {error.reason}).\nSave the file as UTF-8 and try again."
            ) from error


def read_source(path: str) -> SourceFile:
    """Read a Python file.

    Raises:
        FixError: it cannot be read, or is not text in the encoding it names.
    """
    try:
        data = trust.read_regular(path)
    except (OSError, ValueError) as error:  # gone, or a name that no file can have
        raise FixError(
            f"{path}: cannot read this file ({getattr(error, 'strerror', error)}).\n"
            "Fixes are made in the files that the script was run from."
        ) from error
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise FixError(f"{path}: cannot be read as Python text ({error}).") from error
    if encoding == "utf-8-sig" and not data.startswith(codecs.BOM_UTF8):
        encoding = "utf-8"
    return SourceFile(path, data, encoding)
