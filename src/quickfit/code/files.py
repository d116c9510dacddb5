"""The files of a program: read when they are asked for, and found by the name of an import."""

from __future__ import annotations

import io
import os
import tokenize
from collections.abc import Iterable, Mapping
from pathlib import Path

from quickfit import trust
from quickfit.code.module import Module
from quickfit.code.names import Bindings
from quickfit.errors import SourceError

# A parsed file takes about sixty times the room of its text.
MAX_KEPT_CHARS = 12_000_000
# A name that more files than this have in common is nobody's in particular.
MAX_MENTIONS = 40


class Files:
    """Texts of a program, by path; parsed files are kept while there is room."""

    def __init__(self, paths: Iterable[str], texts: Mapping[str, str] | None = None) -> None:
        self.paths = list(dict.fromkeys(paths))
        self._known = set(self.paths)
        self._texts = {path: _with_unix_ends(text) for path, text in (texts or {}).items()}
        self._modules: dict[str, Module] = {}
        self._bindings: dict[Module, Bindings] = {}
        self._kept_chars = 0
        self._found: dict[tuple[str, str], str] = {}
        self._by_stem: dict[str, list[str]] = {}
        for path in self.paths:
            name = Path(path)
            stem = name.parent.name if name.stem == "__init__" else name.stem
            self._by_stem.setdefault(stem, []).append(path)

    def __contains__(self, path: str) -> bool:
        return path in self._known

    def text(self, path: str) -> str:
        """Return the text of a file, with `\\n` at its line ends.

        Raises:
            SourceError: it cannot be read, or is not text.
        """
        if path not in self._texts:
            self._texts[path] = read_text(path)
        return self._texts[path]

    def module(self, path: str) -> Module:
        """Return a parsed file.

        Raises:
            SourceError: it cannot be read, or is not Python.
        """
        if path not in self._modules:
            self._modules[path] = Module(path, self.text(path))
            self._kept_chars += len(self.text(path))
        return self._modules[path]

    @property
    def is_full(self) -> bool:
        """Tell whether it is time to forget what was parsed."""
        return self._kept_chars > MAX_KEPT_CHARS

    def forget(self) -> None:
        """Forget what was parsed; nobody may hold on to a module or a node."""
        self._modules.clear()
        self._bindings.clear()
        self._kept_chars = 0

    def bindings(self, module: Module) -> Bindings:
        """Return what binds names in a file."""
        if module not in self._bindings:
            self._bindings[module] = Bindings(module)
        return self._bindings[module]

    def imported(self, importer: str, name: str) -> Module | None:
        """Return the file that `import name` in another file means; None: it is not one of ours.

        A name without dots in front is looked for beside the importing file and in the folders
        above it, as people run scripts and packages.
        """
        path = self.path_of(importer, name)
        try:
            return self.module(path) if path else None
        except SourceError:
            return None

    def path_of(self, importer: str, name: str) -> str:
        """Return the path of the file that an import means; empty: it is not one of ours."""
        key = (os.path.dirname(importer), name)
        if key not in self._found:
            self._found[key] = self._path(importer, name)
        return self._found[key]

    def _path(self, importer: str, name: str) -> str:
        relative = name.lstrip(".")
        dots = len(name) - len(relative)
        parts = relative.split(".") if relative else []
        candidates = self._by_stem.get(parts[-1] if parts else "", [])
        if not parts:
            folder = _up(Path(importer).parent, dots - 1)
            candidates = [str(folder / "__init__.py")]
            return next((c for c in candidates if c in self._known), "")
        if dots:
            return _beside(_up(Path(importer).parent, dots - 1), parts, candidates)
        for folder in Path(importer).parents:
            found = _beside(folder, parts, candidates)
            if found:
                return found
        return ""

    def mentioning(self, word: str, other_than: str, *also: str) -> list[Module]:
        """Return the other files that have a word, and these words too; none of too many files."""
        paths = [p for p in self.paths if p != other_than and self._has(p, word, *also)]
        found: list[Module] = []
        for path in paths if len(paths) <= MAX_MENTIONS else ():
            try:
                found.append(self.module(path))
            except SourceError:
                continue
        return found

    def _has(self, path: str, *words: str) -> bool:
        text = self.text_or_empty(path)
        return bool(text) and all(word in text for word in words)

    def text_or_empty(self, path: str) -> str:
        """Return the text of a file; empty where it cannot be read."""
        try:
            return self.text(path)
        except SourceError:
            return ""


def read_text(path: str) -> str:
    """Return the text of a Python file or of the code cells of a notebook.

    Raises:
        SourceError: it cannot be read, or is not text in the encoding it names.
    """
    try:
        data = trust.read_regular(path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror})") from error
    if path.endswith(".ipynb"):
        from quickfit.code.notebooks import read_notebook

        return read_notebook(data).text
    return decode_python(path, data)


def decode_python(path: str, data: bytes) -> str:
    """Return the text of a Python file's bytes.

    Raises:
        SourceError: it is not text in the encoding it names.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise SourceError(f"{path}: cannot be read as Python text ({error})") from error
    return _with_unix_ends(text.removeprefix("\ufeff"))


def _with_unix_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _beside(folder: Path, parts: list[str], candidates: list[str]) -> str:
    base = os.path.join(folder, *parts)
    wanted = (f"{base}.py", os.path.join(base, "__init__.py"))
    return next((path for path in candidates if path in wanted), "")


def _up(folder: Path, levels: int) -> Path:
    for _ in range(levels):
        folder = folder.parent
    return folder
