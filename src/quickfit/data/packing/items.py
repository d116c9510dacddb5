"""One thing that an iterable of the user's gives: an image, its label and its name."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quickfit.data.entries import NO_LABEL, Entry
from quickfit.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

# Numbers up to here are classes; beyond, they are something else that is called a label.
_MOST_NUMBERS = 100_000
_FORMS = (
    "Each item must be (image, label) or (image, label, name), or a dictionary of these, where the "
    "image is the bytes of a file, a uint8 array [height, width, 3], a PIL image or a path; images "
    "other than paths may stand alone, without a label."
)


@dataclass(frozen=True, slots=True)
class Item:
    """An image to pack.

    Args:
        name: given, or its number.
        label: its class, or `NO_LABEL`.
        image: the bytes of its file, or its pixels, or the path of its file.
    """

    name: str
    label: int
    image: bytes | np.ndarray | str

    def entry(self) -> Entry:
        """Return the entry of an image that is a file."""
        return Entry(self.name, self.label, 0, str(self.image))


@dataclass
class Labels:
    """Numbers for labels; names get theirs in the order given, or as they appear.

    Args:
        names: of the classes, in the order of their numbers; empty where labels are numbers.
        is_fixed: whether there can be no others.
    """

    names: list[str] = field(default_factory=list)
    is_fixed: bool = False
    _numbers: dict[str, int] = field(default_factory=dict)
    _kind: type | None = None
    _highest: int = NO_LABEL

    def classes(self) -> list[str]:
        """Return the name of each label; of numbers, their text."""
        if self.names or self._highest >= _MOST_NUMBERS:
            return self.names
        return [str(number) for number in range(self._highest + 1)]

    def number(self, label: Any, position: int) -> int:  # whatever the user gives
        """Return the number of a label.

        Raises:
            UsageError: it is no label, or of another kind than those before.
        """
        if label is None:
            return NO_LABEL
        label = _plain(label)
        kind = str if isinstance(label, str) else int
        if self._kind not in (None, kind):
            raise UsageError(
                f"pack: item {position:,} has the label {label!r}, but the labels before it were "
                f"{'names' if self._kind is str else 'numbers'}. Give all labels in one way."
            )
        self._kind = kind
        number = self._named(label, position) if kind is str else _whole(label, position)
        self._highest = max(self._highest, number)
        return number

    def _named(self, name: str, position: int) -> int:
        if not self._numbers:
            self._numbers = {known: number for number, known in enumerate(self.names)}
        if name not in self._numbers:
            if self.is_fixed:
                known = ", ".join(self.names[:10])
                raise UsageError(
                    f"pack: item {position:,} has the label {name!r}, which is none of `labels` "
                    f"({known})."
                )
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]


def _plain(label: Any) -> Any:
    """Return the Python value of a number of NumPy's or a tensor."""
    label = label.numpy() if callable(getattr(label, "numpy", None)) else label
    if isinstance(label, bytes):
        return label.decode("utf-8", "surrogateescape")
    shape = getattr(label, "shape", None)
    return label.item() if shape is not None and all(side == 1 for side in shape) else label


def _whole(label: Any, position: int) -> int:
    if not isinstance(label, int) or not 0 <= label < 2**63:
        hint = " Of a one-hot label give label.argmax()." if hasattr(label, "shape") else ""
        raise UsageError(
            f"pack: item {position:,} has the label {_shown(label)}. A label is a whole number "
            f"from 0, a name, or None.{hint}"
        )
    return int(label)


def item(value: Any, position: int, labels: Labels) -> Item:
    """Return an item of the user's iterable.

    Raises:
        UsageError: it is none.
    """
    given, label, name = _parts(value, position)
    image = _image(given, position)
    if name is None:
        name = image if isinstance(image, str) else f"{position:08d}"
    name = _plain(name)
    if not isinstance(name, str) or not name:
        raise UsageError(f"pack: item {position:,} has the name {_shown(name)}; a name is a text.")
    return Item(name, labels.number(label, position), image)


def _parts(value: Any, position: int) -> tuple[Any, Any, Any]:
    """Return image, label and name as they were given; None for what was not."""
    if isinstance(value, Mapping) and "image" in value:
        return value["image"], value.get("label"), value.get("name")
    if isinstance(value, tuple | list) and len(value) in (2, 3):
        return (*value, None) if len(value) == 2 else tuple(value)
    # A path alone is an error: a list of paths is packed with its labels, in many processes.
    if isinstance(value, tuple | list | Mapping | str | os.PathLike):
        raise UsageError(f"pack: item {position:,} of the iterable is {_shown(value)}.\n{_FORMS}")
    return value, None, None


def _image(image: Any, position: int) -> bytes | np.ndarray | str:
    image = image.numpy() if callable(getattr(image, "numpy", None)) else image
    if hasattr(image, "mode") and hasattr(image, "convert"):  # PIL, which is not imported for it
        return _pixels(_from_pil(image), position)
    if isinstance(image, bytes | bytearray | memoryview):
        return bytes(image)
    if isinstance(image, str | os.PathLike):
        return os.fsdecode(image)
    return _pixels(image, position)


def _from_pil(image: Any) -> np.ndarray:
    import numpy as np

    return np.asarray(image if image.mode in ("L", "RGB", "RGBA") else image.convert("RGB"))


def _pixels(image: Any, position: int) -> np.ndarray:
    import numpy as np

    shape = getattr(image, "shape", None)
    if shape is None or not (hasattr(image, "dtype") or hasattr(image, "__array__")):
        raise UsageError(f"pack: item {position:,}: the image is {_shown(image)}.\n{_FORMS}")
    pixels = np.asarray(image)
    if pixels.dtype != np.uint8:
        raise UsageError(
            f"pack: item {position:,}: the image has the type {pixels.dtype}; pixels are uint8, 0 "
            "to 255. Convert it:\n    (image * 255).round().astype('uint8')   # from 0..1"
        )
    is_image = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (1, 3, 4))
    if not is_image or not pixels.size:
        hint = " This looks like a batch: give one image at a time." if pixels.ndim == 4 else ""
        raise UsageError(
            f"pack: item {position:,}: the image has the shape {pixels.shape}; [height, width], or "
            f"with 1, 3 or 4 channels, can be packed.{hint}"
        )
    return np.ascontiguousarray(pixels)


def png(image: np.ndarray) -> bytes:
    """Return pixels as a PNG file, which loses nothing."""
    from PIL import Image

    content = io.BytesIO()
    flat = image[:, :, 0] if image.ndim == 3 and image.shape[2] == 1 else image
    Image.fromarray(flat).save(content, "PNG")
    return content.getvalue()


def rgb(image: np.ndarray) -> np.ndarray:
    """Return pixels with three channels: gray widened, alpha dropped."""
    import numpy as np

    if image.ndim == 2 or image.shape[2] == 1:
        return np.repeat(image.reshape(*image.shape[:2], 1), 3, axis=2)
    return np.ascontiguousarray(image[:, :, :3])


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return f"{type(value).__name__} {text if len(text) < 80 else text[:77] + '…'}"


def labels_of(given: Sequence[str] | None) -> Labels:
    """Return how labels get their numbers.

    Raises:
        UsageError: what was given are no names.
    """
    if given is None:
        return Labels()
    names = list(given)
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise UsageError(
            "pack: for an iterable, `labels` are the names of the classes, each once, in the order "
            f"of their numbers; got {_shown(given)}.\nTo give each image its own label:\n"
            "    quickfit.data.pack(zip(images, labels), …)"
        )
    return Labels(names, is_fixed=True)
