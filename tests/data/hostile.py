"""Folders and archives of images as bad as they come, with what is to become of each file."""

import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from photos import jpeg, photo

NOT_UTF8 = os.fsdecode(b"cat/caf\xe9.jpg")


@dataclass
class Hostile:
    """A bad source.

    Args:
        path: of the folder or archive.
        good: the content of every image that is to be found, by its name.
        at_listing: the reason, by name, of what listing rejects.
        at_reading: the reason, by name, of what is listed, and bad when one looks into it.
        odd: the content of what is listed with `keep_odd_names` only, by its name.
    """

    path: Path
    good: dict = field(default_factory=dict)
    at_listing: dict = field(default_factory=dict)
    at_reading: dict = field(default_factory=dict)
    odd: dict = field(default_factory=dict)

    def write(self, name, content):
        """Write a file of the folder, whatever its name is."""
        file = os.path.join(os.fspath(self.path), name)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "wb") as opened:
            opened.write(content)


def small_jpeg(seed=0):
    """Return a small real photograph as a JPEG file."""
    return jpeg(photo(24, 32, seed=seed))


def truncated_jpeg():
    """Return a JPEG file whose second half is missing."""
    content = jpeg(photo(60, 80))
    return content[: len(content) // 2]


def bomb_png(width=30_000, height=30_000):
    """Return a PNG file of a few bytes that says it has 900 million pixels."""
    header = struct.pack(">2L5B", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    )


def bomb_jpeg(width=30_000, height=30_000):
    """Return a JPEG file whose header says it has 900 million pixels."""
    content = bytearray(small_jpeg())
    at = content.index(b"\xff\xc0")
    content[at + 5 : at + 9] = struct.pack(">2H", height, width)
    return bytes(content)


def hostile_folder(path, *, with_classes=True):
    """Write a folder with every kind of trouble in it; the good files are in classes."""
    case = Hostile(Path(path))
    _write_good(case)
    _write_odd_names(case)
    _write_bad_content(case)
    _write_links(case)
    if with_classes:
        case.write("beside.jpg", small_jpeg(90))
        case.at_listing["beside.jpg"] = "no-class"
    return case


def _write_good(case):
    names = ("cat/1.jpg", "cat/deep/er/2.JPG", "cat/white space é.jpeg", "dog/1.Jpg", "dog/2.jfif")
    for seed, name in enumerate(names):
        case.good[name] = small_jpeg(seed)
        case.write(name, case.good[name])
    for name in ("cat/.hidden.jpg", "cat/.DS_Store", "Thumbs.db", "dog/notes.txt", ".git/x.jpg"):
        case.write(name, b"not an image")


def _write_odd_names(case):
    for seed, name in enumerate(("cat/line\nbreak.jpg", "cat/bell\a.jpg", NOT_UTF8)):
        case.odd[name] = small_jpeg(20 + seed)
        case.at_listing[name] = "bad-name"
        case.write(name, case.odd[name])


def _write_bad_content(case):
    case.write("dog/empty.jpg", b"")
    case.at_listing["dog/empty.jpg"] = "empty"
    bad = {
        "dog/text.jpg": (b"this is no image, it only has the name of one\n", "not-an-image"),
        "dog/truncated.jpg": (truncated_jpeg(), "truncated"),
        "dog/bomb.jpg": (bomb_jpeg(), "too-large"),
        "dog/bomb.png": (bomb_png(), "too-large"),
    }
    for name, (content, reason) in bad.items():
        case.write(name, content)
        case.at_reading[name] = reason


def _write_links(case):
    root = case.path
    outside = root.parent / f"{root.name}-outside"
    outside.mkdir(exist_ok=True)
    case.good["dog/linked/far.jpg"] = small_jpeg(30)
    (outside / "far.jpg").write_bytes(case.good["dog/linked/far.jpg"])
    (root / "dog" / "linked").symlink_to(outside, target_is_directory=True)
    case.good["dog/same.jpg"] = case.good["dog/1.Jpg"]
    (root / "dog" / "same.jpg").symlink_to("1.Jpg")
    links = {
        "cat/loop": ("..", "link-loop"),
        "cat/self.jpg": ("self.jpg", "link-loop"),
        "cat/dangling.jpg": ("nowhere.jpg", "vanished"),
    }
    for name, (target, reason) in links.items():
        (root / name).symlink_to(target)
        case.at_listing[name] = reason
    os.mkfifo(root / "cat" / "pipe.jpg")
    case.at_listing["cat/pipe.jpg"] = "unreadable"


UNSAFE_NAMES = ("/etc/1.jpg", "../up.jpg", "cat/../../up.jpg", "C:/1.jpg", "..\\up.jpg")


def hostile_zip(path):
    """Write a zip archive with every kind of trouble in it."""
    case = Hostile(Path(path))
    with zipfile.ZipFile(path, "w") as archive:
        for seed, name in enumerate(("cat/1.jpg", "cat/deep/2.JPG", "dog/é.jpg")):
            case.good[name] = small_jpeg(seed)
            archive.writestr(name, case.good[name], zipfile.ZIP_DEFLATED if seed else None)
        for name in UNSAFE_NAMES:
            archive.writestr(name, small_jpeg())
            case.at_listing[name.replace("\\", "/")] = "unsafe-path"
        link = zipfile.ZipInfo("cat/link.jpg")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("cat/line\nbreak.jpg", small_jpeg())
        archive.writestr("cat/empty.jpg", b"")
        archive.writestr("cat/bzip2.jpg", small_jpeg(), zipfile.ZIP_BZIP2)
        archive.writestr("cat/.hidden.jpg", small_jpeg())
        archive.writestr("__MACOSX/cat/1.jpg", small_jpeg())
        archive.writestr("cat/notes.txt", "notes")
        archive.writestr("dog/locked.jpg", small_jpeg())
        archive.writestr("dog/huge.jpg", small_jpeg())
        archive.writestr("dog/lies.jpg", bytes(5000), zipfile.ZIP_DEFLATED)
        archive.writestr("dog/wrong.jpg", small_jpeg())
    case.at_listing |= {
        "cat/link.jpg": "unsafe-path",
        "cat/line\nbreak.jpg": "bad-name",
        "cat/empty.jpg": "empty",
        "cat/bzip2.jpg": "unreadable",
        "dog/locked.jpg": "unreadable",
        "dog/huge.jpg": "too-large",
    }
    case.at_reading |= {"dog/lies.jpg": "corrupt", "dog/wrong.jpg": "corrupt"}
    content = bytearray(Path(path).read_bytes())
    _change_table(content, b"dog/locked.jpg", 8, struct.pack("<H", 0x1))  # encrypted
    _change_table(content, b"dog/huge.jpg", 24, struct.pack("<L", 3_000_000_000))
    _change_table(content, b"dog/lies.jpg", 24, struct.pack("<L", 100))
    content[content.index(b"dog/wrong.jpg") + 50] ^= 0xFF
    Path(path).write_bytes(content)
    return case


def _change_table(content, name, at, value):
    """Change a field of a member in the archive's table of contents."""
    begin = content.rindex(name) - 46
    assert content[begin : begin + 4] == b"PK\x01\x02"
    content[begin + at : begin + at + len(value)] = value


def zip_with_same_names(path):
    """Write a zip archive that has one name twice, and return both contents."""
    contents = [small_jpeg(1), small_jpeg(2)]
    with zipfile.ZipFile(path, "w") as archive:
        for number, content in enumerate(contents):
            archive.writestr(f"cat/{number}.jpg", content)
        archive.writestr("dog/0.jpg", small_jpeg(3))
    raw = Path(path).read_bytes()
    Path(path).write_bytes(raw.replace(b"cat/1.jpg", b"cat/0.jpg"))
    return contents


def hostile_tar(path, mode="w", layout=tarfile.PAX_FORMAT):
    """Write a tar archive with every kind of trouble in it; `mode` "w:gz" compresses it."""
    case = Hostile(Path(path))
    with tarfile.open(path, mode, format=layout) as archive:
        names = ("./cat/1.jpg", "cat/2.JPG", f"cat/{'long' * 60}.jpg", "dog/é.jpg")
        for seed, name in enumerate(names):
            case.good[name.removeprefix("./")] = small_jpeg(seed)
            _add(archive, name, small_jpeg(seed))
        case.good["dog/second.jpg"] = case.good["cat/2.JPG"]
        _add(archive, "dog/second.jpg", kind=tarfile.LNKTYPE, link="cat/2.JPG")
        for name in UNSAFE_NAMES:
            _add(archive, name, small_jpeg())
            case.at_listing[name] = "unsafe-path"
        for name, kind, link in (
            ("cat/link.jpg", tarfile.SYMTYPE, "/etc/passwd"),
            ("cat/hard.jpg", tarfile.LNKTYPE, "/etc/passwd"),
            ("cat/device.jpg", tarfile.CHRTYPE, ""),
            ("cat/pipe.jpg", tarfile.FIFOTYPE, ""),
        ):
            _add(archive, name, kind=kind, link=link)
            case.at_listing[name] = "unsafe-path"
        _add(archive, "cat/line\nbreak.jpg", small_jpeg())
        _add(archive, NOT_UTF8, small_jpeg())
        _add(archive, "cat/empty.jpg", b"")
        _add(archive, "cat/._hidden.jpg", b"x")
        _add(archive, "cat/notes.txt", b"notes")
        _add(archive, "dog", kind=tarfile.DIRTYPE)
    case.at_listing |= {
        "cat/line\nbreak.jpg": "bad-name",
        NOT_UTF8: "bad-name",
        "cat/empty.jpg": "empty",
    }
    return case


def _add(archive, name, content=b"", kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(content), kind, link
    archive.addfile(info, io.BytesIO(content))
