"""Which versions of TensorFlow and Keras the project around a file asks for."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

# How far up the files of a project are looked for; the folder of the repository ends it earlier.
MAX_FOLDERS = 5
_FILES = ("requirements*.txt", "environment*.y*ml", "Pipfile", "pyproject.toml", "setup.py")
_PACKAGES = r"(?<![\w-])(tensorflow(?:[-_](?:gpu|cpu|macos))?|keras)(?![\w-])"
_BOUND = re.compile(r"(?<![<>!=~])(===?|=|~=|<=|<)\s*[\"']?\s*v?(\d+)(?:\.(\d+))?")
_LINE = re.compile(_PACKAGES + r"(?:\[[\w,\s-]*\])?[\"']?\s*([^#\n;]*)")
_INSTALL = re.compile(r"(?:pip3?|conda)\s+install\s+[^\n]*")
# The first versions that bring Keras 3.
_FIRST = {"tensorflow": (2, 16), "keras": (3, 0)}


def asks_for_keras2(path: str) -> bool:
    """Tell whether a project, or a notebook itself, asks for versions that bring Keras 2."""
    file = Path(path)
    if file.suffix == ".ipynb" and _notebook_asks(file):
        return True
    return _folder_asks(file.parent)


def pins_keras2(text: str) -> bool:
    """Tell whether requirements hold TensorFlow or Keras below the versions with Keras 3."""
    for found in _LINE.finditer(text):
        first = _FIRST["keras" if found[1] == "keras" else "tensorflow"]
        if any(_is_below(bound, first) for bound in _BOUND.finditer(found[2])):
            return True
    return False


def _is_below(bound: re.Match[str], first: tuple[int, int]) -> bool:
    version = int(bound[2]), int(bound[3] or 0)
    return version <= first if bound[1] == "<" else version < first


@lru_cache(maxsize=1024)
def _folder_asks(folder: Path) -> bool:
    for each in (folder, *folder.parents)[:MAX_FOLDERS]:
        found = [file for pattern in _FILES for file in sorted(each.glob(pattern))]
        if any(pins_keras2(_text(file)) for file in found):
            return True
        if (each / ".git").exists() or (each / "pyproject.toml").exists():
            return False
    return False


def _notebook_asks(file: Path) -> bool:
    text = _text(file)
    if re.search(r"%tensorflow_version\s+1", text):
        return True
    return any(pins_keras2(line) for line in _INSTALL.findall(text.replace("\\n", "\n")))


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""
