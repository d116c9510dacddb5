"""What the name of a file says: whether it is an image, and whether it can be used safely."""

from __future__ import annotations

import re

IMAGE_EXTENSIONS = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".bmp", ".webp")

# Images too, but of kinds that neither TensorFlow nor quickfit decodes.
_FOREIGN = {
    **dict.fromkeys((".heic", ".heif", ".hif"), "HEIC"),
    **dict.fromkeys((".tif", ".tiff"), "TIFF"),
    **dict.fromkeys((".jp2", ".j2k", ".jpx"), "JPEG 2000"),
    ".avif": "AVIF",
    ".jxl": "JPEG XL",
    ".psd": "PSD",
    **dict.fromkeys(
        (
            *(".dng", ".cr2", ".cr3", ".crw", ".nef", ".nrw", ".arw", ".srf", ".sr2", ".raf"),
            *(".orf", ".rw2", ".pef", ".srw", ".x3f", ".3fr", ".iiq", ".kdc", ".dcr", ".erf"),
        ),
        "a raw camera format",
    ),
}

# Line breaks (those of Unicode too) and control characters tear lists and logs apart.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# What `os.fsdecode` makes of bytes that are no UTF-8; no text can hold them.
_NOT_UTF8 = re.compile("[\ud800-\udfff]")
_HIDDEN = re.compile(r"(?:^|/)(?:\.|(?:__MACOSX|Thumbs\.db|desktop\.ini)(?:/|$))")
_DRIVE = re.compile(r"[A-Za-z]:")
_REMEDY = "rename it, or keep such names: keep_odd_names=True (--keep-odd-names)"
# Characters of a name in a message.
_MOST_SHOWN = 200


def is_image_name(name: str) -> bool:
    """Return whether a name ends as those of images do, in any case."""
    return name.lower().endswith(IMAGE_EXTENSIONS)


def foreign_kind(name: str) -> str | None:
    """Return the kind of image that a name says, of those that are not read; None of others."""
    dot = name.rfind(".")
    return _FOREIGN.get(name[dot:].lower()) if dot >= 0 else None


def is_hidden(name: str) -> bool:
    """Return whether a part of a path is one that programs keep for themselves."""
    return _HIDDEN.search(name) is not None


def oddity(name: str) -> str | None:
    """Return what is wrong with a name and what to do, or None for an ordinary one."""
    if name.isascii() and name.isprintable():
        return None
    if "\x00" in name:
        return "its name has a null byte, which no file system can hold"
    if _CONTROL.search(name):
        kind = "line break" if len(name.splitlines()) > 1 or "\n" in name else "control character"
        return f"its name has a {kind}: {_REMEDY}"
    if _NOT_UTF8.search(name):
        return f"its name is no UTF-8: {_REMEDY}"
    return None


def shown(name: str) -> str:
    """Return a name as a message may hold it.

    Nothing in it breaks lines or steers a terminal; a very long one has its middle left out.
    """
    if len(name) > _MOST_SHOWN:
        name = f"{name[: _MOST_SHOWN // 2]}…{name[-(_MOST_SHOWN // 2 - 1) :]}"
    if name.isprintable():
        return name
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return "".join(escaped)


def option_name(name: str) -> str:
    """Return what the command line and Python call an option."""
    return f"--{name.replace('_', '-')} ({name})"


def is_usable(name: str, *, keep_odd_names: bool) -> bool:
    """Return whether a file of this name may be listed."""
    return oddity(name) is None or (keep_odd_names and "\x00" not in name)


def danger(name: str) -> str | None:
    """Return why the name of an archive's member leads out of the archive, or None."""
    if name.startswith(("/", "\\")):
        return "its path is absolute"
    if _DRIVE.match(name):
        return "its path begins with a drive letter"
    if ".." in name and ".." in re.split(r"[/\\]", name):
        return "its path leads out of the archive (`..`)"
    return None


def plain(name: str) -> str:
    """Return a member's path without the parts that say nothing: `./a//b` is `a/b`."""
    if "./" not in name and "//" not in name and not name.endswith(("/", ".")):
        return name
    return "/".join(part for part in name.split("/") if part not in ("", "."))
