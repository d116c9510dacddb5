"""What a dataset of images tells about itself: its attributes and its repr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from quickfit.data.entries import Entry, Rejection
from quickfit.data.imaging._graph import Dataset

_FORMATS = {
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".png": "PNG",
    ".gif": "GIF",
    ".bmp": "BMP",
    ".webp": "WebP",
}
# More do not fit on a line.
_SHOWN_CLASSES = 6


@dataclass(frozen=True)
class Description:
    """What is told about a dataset.

    Args:
        entries: its images.
        class_names: by label; empty without labels.
        bad_files: what is left out; it grows while the dataset is read.
        left_out: tells which of the entries are among them by now.
        steps: what happens to the images, for people, in order.
    """

    entries: Sequence[Entry]
    class_names: list[str]
    bad_files: list[Rejection]
    left_out: Callable[[], Collection[int]]
    steps: Sequence[str]

    @property
    def class_counts(self) -> list[int]:
        """The images of each class, without those that are known to be bad."""
        bad = self.left_out()
        used = [entry for index, entry in enumerate(self.entries) if index not in bad]
        return counts_of(used, len(self.class_names))

    def text(self, element_spec: object) -> str:
        """Return the repr of the dataset."""
        bad = len(self.bad_files)
        left_out = f", {bad:,} {'file' if bad == 1 else 'files'} left out" if bad else ""
        what = f"{self._content()}{left_out}"
        return f"<images: {what} → {', '.join([_elements(element_spec), *self.steps])}>"

    def _content(self) -> str:
        suffixes = {entry.name[entry.name.rfind(".") :].lower() for entry in self.entries}
        formats = {_FORMATS.get(suffix, "images") for suffix in suffixes}
        kind = formats.pop() if len(formats) == 1 else "images"
        count = f"{len(self.entries) - len(self.left_out()):,} {kind}"
        if not self.class_names:
            return f"{count} without labels"
        plural = "class" if len(self.class_names) == 1 else "classes"
        return f"{count} in {len(self.class_names):,} {plural} ({self._classes()})"

    def _classes(self) -> str:
        pairs = list(zip(self.class_names, self.class_counts, strict=True))
        shown = [f"{name} {count:,}" for name, count in pairs[:_SHOWN_CLASSES]]
        return ", ".join(shown + ["…"] * (len(pairs) > _SHOWN_CLASSES))


def counts_of(entries: Sequence[Entry], class_count: int) -> list[int]:
    """Return how many images each class has."""
    counts = Counter(entry.label for entry in entries)
    return [counts[label] for label in range(class_count)]


def described(dataset: Dataset, description: Description) -> Dataset:
    """Give the dataset its attributes and a repr that a person can read.

    It stays the dataset it was: `isinstance` and everything TensorFlow does with it.
    """
    kind = type(dataset)
    words = {"__repr__": _repr, "__str__": _repr, "class_counts": property(_class_counts)}
    dataset.__class__ = type("Images", (kind,), words)
    dataset.class_names = description.class_names
    dataset.bad_files = description.bad_files
    dataset.file_paths = [entry.file for entry in description.entries]
    dataset._quickfit_description = description
    return dataset


def _class_counts(dataset: Dataset) -> list[int]:
    description: Description = dataset._quickfit_description
    return description.class_counts


def _repr(dataset: Dataset) -> str:
    description: Description = dataset._quickfit_description
    return description.text(dataset.element_spec)


def _elements(spec: object) -> str:
    """Return the shapes and dtypes of an element: `(32, 224, 224, 3) uint8`."""
    parts = spec if isinstance(spec, tuple) else (spec,)
    return " and ".join(
        f"({', '.join('?' if side is None else str(side) for side in part.shape)}"
        f"{',' if len(part.shape) == 1 else ''}) {part.dtype.name}"
        for part in parts
    )
