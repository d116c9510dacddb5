"""Where the data lies: folders of files that the process reads, and their file systems.

The open files are looked at twice a second. A small file that is read in a millisecond is seldom
met, but slow storage, which is what matters, keeps files open for long.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass, field

from quickfit.probes._descriptors import names_in
from quickfit.probes._state import State
from quickfit.probes._system_files import Mount, mounts, text

MAX_FOLDERS = 50
# Distinct files that are told apart; more are not counted.
MAX_FILES = 5_000
# Open files looked at per reading; each new one costs 8 µs.
MAX_LOOKED_AT = 200
_SYSTEM = ("/proc/", "/dev/", "/sys/", "/etc/", "/usr/", "/lib/", "/lib64/", "/bin/", "/memfd:")
_CODE = (".so", ".py", ".pyc", ".pyd", ".pth", ".egg")
_PACKAGES = ("/site-packages/", "/dist-packages/")
_PREFIXES = tuple(
    os.path.join(os.path.realpath(path), "")
    for path in {sysconfig.get_path("stdlib"), os.path.join(sys.prefix, "lib")}
    if path
)


@dataclass
class _Folder:
    file_system: str
    files: int = 0
    size_bytes: int = 0
    has_news: bool = True


@dataclass
class DataFolders:
    """Collects the folders of files that are read, each file once."""

    folders: dict[str, _Folder] = field(default_factory=dict)
    _files: set[str] = field(default_factory=set)
    _before: dict[str, str] = field(default_factory=dict)

    def look(self, state: State) -> None:
        """Look at what is open now; record folders that are new or have grown."""
        own = os.path.join(os.path.realpath(str(getattr(state.writer, "folder", ""))), "")
        for number, path in self._opened().items():
            if is_data(path) and not path.startswith(own) and _is_read(number):
                self._add(number, path)
        for name, folder in self.folders.items():
            if folder.has_news:
                folder.has_news = False
                row = (name, folder.file_system, folder.files, folder.size_bytes)
                state.writer.add("data_folders", row)

    def _opened(self) -> dict[str, str]:
        """Return the files that were not open under the same number when last looked at."""
        try:
            numbers = names_in("/proc/self/fd")[:MAX_LOOKED_AT]
        except OSError:
            return {}
        found = {}
        for number in numbers:
            try:
                found[number] = os.readlink(f"/proc/self/fd/{number}")
            except OSError:
                continue  # closed since
        before, self._before = self._before, found
        return {number: path for number, path in found.items() if before.get(number) != path}

    def _add(self, number: str, path: str) -> None:
        if path in self._files or len(self._files) >= MAX_FILES:
            return
        name = os.path.dirname(path)
        folder = self.folders.get(name)
        if folder is None:
            if len(self.folders) >= MAX_FOLDERS:
                return
            folder = _Folder(file_system_of(name, mounts(text("/proc/self/mountinfo"))))
            self.folders[name] = folder
        self._files.add(path)
        folder.files += 1
        folder.has_news = True
        try:
            folder.size_bytes += os.stat(f"/proc/self/fd/{number}").st_size
        except OSError:
            return  # closed since: its size is not known


def is_data(path: str) -> bool:
    """Tell whether an open file may be the user's data, not code, a pipe or the system's."""
    if not path.startswith("/") or path.startswith((*_SYSTEM, *_PREFIXES)):
        return False
    if path.endswith((*_CODE, " (deleted)")) or ".so." in path:
        return False
    return not any(part in path for part in _PACKAGES)


def _is_read(number: str) -> bool:
    """Tell whether a file was opened for reading only; logs and checkpoints are written."""
    for line in (text(f"/proc/self/fdinfo/{number}") or "").splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE == os.O_RDONLY
    return False


def file_system_of(folder: str, known: list[Mount]) -> str:
    """Return the type of the file system a folder lies on, such as `nfs4` or `ext4`."""
    best, kind = -1, "unknown"
    for mount in known:
        point = mount.point.rstrip("/")
        # A later mount hides an earlier one on the same point.
        if f"{folder}/".startswith(f"{point}/") and len(point) >= best:
            best, kind = len(point), mount.kind
    return kind
