"""The file system that a path lies on, and whether its files are on a disk of this machine."""

from __future__ import annotations

import re
from pathlib import Path

# File systems whose files are elsewhere, or behind a program that fetches them.
REMOTE = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs"),
        *("glusterfs", "pvfs2", "orangefs", "virtiofs", "vboxsf", "vmhgfs", "drvfs", "fuse"),
    )
)
# FUSE in front of a disk of this machine.
LOCAL_FUSE = frozenset(
    (
        *("fuse.fuse-overlayfs", "fuse.ntfs-3g", "fuse.ntfs", "fuse.exfat", "fuse.mergerfs"),
        *("fuse.lxcfs", "fuse.portal", "fuse.gocryptfs", "fuse.encfs"),
    )
)


def is_remote(file_system: str) -> bool:
    """Tell whether files of a file system are elsewhere, or behind a program that fetches them."""
    is_fuse = file_system.startswith("fuse.") and file_system not in LOCAL_FUSE
    return file_system in REMOTE or is_fuse


def file_system_of(path: Path, *, mounts: Path = Path("/proc/mounts")) -> tuple[str, str]:
    """Return the type and the options of the file system that a path lies on; empty: not known."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    except OSError:
        return "", ""
    here = str(path.resolve())
    best, kind, options = "", "", ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 4:
            continue
        # A space in a mount point is written \\040, a tab \\011, a backslash \\134.
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[1])
        inside = here == point or here.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind, options = point, fields[2], fields[3]
    return kind, options
