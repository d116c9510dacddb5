"""The random transformations of an `ImageDataGenerator`, as layers of Keras."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.code import Module

# In radians this moves no pixel of a usual image by more than one: often meant as a share.
SMALL_SHEAR = 0.5
ARGUMENTS = (
    *("rotation_range", "width_shift_range", "height_shift_range", "zoom_range", "shear_range"),
    *("brightness_range", "fill_mode", "cval", "interpolation_order"),
)
_FILLS = ("constant", "nearest", "reflect", "wrap")


@dataclass(frozen=True)
class Augmentation:
    """Layers, in the order in which they are applied, and what they do not do.

    Args:
        layers: the code of each, without the name of Keras.
        brightness: the code of the lowest and highest factor; empty for none.
        shear: the code of a shear that is left out; may be empty.
    """

    layers: tuple[str, ...]
    brightness: tuple[str, ...] = ()
    shear: str = ""

    @property
    def difference(self) -> str:
        """What is said of the images."""
        left = f" A shear of {self.shear} degrees is left out." if self.shear else ""
        return (
            " The images are changed at random in the same ranges, by one step after the other"
            f" instead of all at once.{left}"
        )


def augmentation_of(
    module: Module, made: dict[str, ast.expr], flips: tuple[str, ...]
) -> Augmentation | None:
    """Return the layers for what a generator is given; None where one does something else.

    Args:
        module: the file.
        made: the arguments of `ImageDataGenerator`.
        flips: the flips it is asked for.
    """
    given = {name: value for name, value in made.items() if name in ARGUMENTS}
    fill = given.pop("fill_mode", None)
    mode = getattr(fill, "value", "") if fill is not None else "nearest"
    order = given.pop("interpolation_order", None)
    cval = given.pop("cval", None)
    if mode not in _FILLS or (order is not None and getattr(order, "value", None) != 1):
        return None
    filled = f'fill_mode="{mode}"'
    if mode == "constant" and cval is not None:
        filled += f", fill_value={module.code(cval)}"
    given = {name: value for name, value in given.items() if not _is_nothing(value)}
    shear = given.pop("shear_range", None)
    if shear is not None and not 0 < (_number(shear) or 90) <= SMALL_SHEAR:
        return None
    brightness = given.pop("brightness_range", None)
    factors = _pair(brightness) if brightness is not None else ()
    if factors is None:
        return None
    layers = [_flip(flips)] if flips else []
    rotation = given.get("rotation_range")
    if rotation is not None:
        layers.append(f"RandomRotation({module.code(rotation)} / 360, {filled})")
    shifts = [given.get("height_shift_range"), given.get("width_shift_range")]
    if any(shift is not None and not 0 < (_number(shift) or 1.0) < 1 for shift in shifts):
        return None  # in pixels, or not told
    if any(shifts):
        codes = [module.code(shift) if shift is not None else "0.0" for shift in shifts]
        layers.append(f"RandomTranslation({codes[0]}, {codes[1]}, {filled})")
    zoom = given.get("zoom_range")
    if zoom is not None:
        found = _zoom(zoom, module)
        if found is None:
            return None
        layers.append(f"RandomZoom({found}, {found}, {filled})")
    ends = tuple(module.code(part) for part in factors)
    return Augmentation(tuple(layers), ends, module.code(shear) if shear is not None else "")


def _flip(flips: tuple[str, ...]) -> str:
    kinds = [flip.removesuffix("_flip") for flip in sorted(flips)]
    return f'RandomFlip("{"_and_".join(kinds)}")'


def _zoom(zoom: ast.expr, module: Module) -> str | None:
    number = _number(zoom)
    if number is not None:
        return module.code(zoom) if 0 < number < 1 else None
    ends = [_number(part) for part in _pair(zoom) or ()]
    if len(ends) != 2 or None in ends:
        return None
    low, high = (round(float(end or 0.0) - 1, 6) for end in ends)
    return f"({low}, {high})" if -1 < low <= high else None


def _pair(value: ast.expr) -> tuple[ast.expr, ...] | None:
    is_pair = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == 2
    return tuple(value.elts) if is_pair else None  # type: ignore[attr-defined]


def _number(value: ast.expr) -> float | None:
    number = value.value if isinstance(value, ast.Constant) else None
    return float(number) if isinstance(number, int | float) and number is not True else None


def _is_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value
