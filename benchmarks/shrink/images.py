"""Small colour images of ten classes, drawn from a seed: five shapes, with stripes or with dots.

Position, size, angle, colours, background, a patch that covers a part of it, and noise are drawn
for each image, so that no single pixel says anything. A small network gets 85 to 95 % right.
"""

import numpy as np

SIDE, CLASSES = 32, 10
NOISE = 0.1
_ROWS, _COLUMNS = np.mgrid[0:SIDE, 0:SIDE].astype("float32")


def images(count, seed):
    """Return images (0 to 1) and their classes."""
    draw = np.random.default_rng(seed)
    labels = draw.permutation(np.arange(count) % CLASSES)
    return np.stack([_image(int(label), draw) for label in labels]), labels


def _image(label, draw):
    x, y = _turned(draw)
    inside = _shape(label // 2, x, y)
    texture = _stripes(x, draw) if label % 2 else _dots(x, y, draw)
    dark, light, behind = _colors(draw)
    filled = np.where(texture[..., None], dark, light)
    slope = 0.15 * (_ROWS / SIDE - 0.5) * draw.uniform(-1, 1)
    image = np.where(inside[..., None], filled, behind + slope[..., None])
    _cover(image, draw)
    image += draw.normal(0, NOISE, image.shape)
    return np.clip(image, 0, 1).astype("float32")


def _turned(draw):
    """Return coordinates around a centre, turned and in units of the shape's size."""
    top, left = draw.uniform(13, 19, 2)
    angle, size = draw.uniform(-0.3, 0.3), draw.uniform(8, 11)
    down, right = _ROWS - top, _COLUMNS - left
    x = (np.cos(angle) * right + np.sin(angle) * down) / size
    y = (np.cos(angle) * down - np.sin(angle) * right) / size
    return x, y


def _shape(kind, x, y):
    radius = np.hypot(x, y)
    if kind == 0:
        return radius < 1
    if kind == 1:
        return np.maximum(abs(x), abs(y)) < 0.9
    if kind == 2:
        return (y < 0.8) & (y > 1.9 * abs(x) - 1)
    if kind == 3:
        return (np.minimum(abs(x), abs(y)) < 0.35) & (np.maximum(abs(x), abs(y)) < 1)
    return (radius < 1.05) & (radius > 0.5)


def _stripes(x, draw):
    return np.sin(draw.uniform(9, 13) * x + draw.uniform(0, 6)) > 0


def _dots(x, y, draw):
    pitch = draw.uniform(9, 13)
    return np.sin(pitch * x + draw.uniform(0, 6)) * np.sin(pitch * y + draw.uniform(0, 6)) > 0


def _colors(draw):
    """Return two colours of the shape and one behind it, all apart from each other."""
    colors = draw.uniform(0.1, 0.9, (3, 3))
    colors[1] = np.clip(colors[0] + draw.choice([-1, 1], 3) * draw.uniform(0.35, 0.6, 3), 0, 1)
    return colors


def _cover(image, draw):
    top, left = draw.integers(0, SIDE - 8, 2)
    height, width = draw.integers(3, 7, 2)
    image[top : top + height, left : left + width] = draw.uniform(0, 1, 3)
