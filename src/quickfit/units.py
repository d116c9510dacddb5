"""The only place that turns seconds, bytes and shares into text.

Everywhere else quantities are plain numbers in seconds, bytes and shares (0 to 1).
What is not a finite number reads `unknown`.
"""

import math

_UNKNOWN = "unknown"
_TIME_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BYTE_STEPS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def seconds(value: float) -> str:
    """Return a duration as people say it: `850 µs`, `24 ms`, `3.1 s`, `4 min 10 s`."""
    if not math.isfinite(value):
        return _UNKNOWN
    sign, value = "-" if value < 0 else "", abs(value)
    if value >= 3599.5:
        minutes = round(value / 60)
        return f"{sign}{minutes // 60} h {minutes % 60} min"
    if value >= 99.5:
        whole = round(value)
        return f"{sign}{whole // 60} min {whole % 60} s"
    for step, unit in _TIME_STEPS:
        # 0.9995 s must read `1.0 s`, never `1000 ms`.
        if value >= step * 0.9995:
            return f"{sign}{_short(value / step)} {unit}"
    # Less than 0.05 µs is beyond what a clock here can tell from nothing.
    return f"{sign}{value / 1e-6:.1f} µs" if value >= 0.05e-6 else "0 s"


def about(value: float) -> str:
    """Return a time to come, to one unit: `40 s`, `25 min`, `6 h`, `3 days`."""
    if not math.isfinite(value):
        return _UNKNOWN
    for step, unit in ((86_400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if value >= 2 * step:
            return f"{_short(value / step) if value < 3 * step else round(value / step)} {unit}"
    return f"{round(max(value, 0.0))} s"


def size(value: float) -> str:
    """Return a number of bytes in decimal units: `1.2 GB`, `38 MB`, `900 bytes`."""
    if not math.isfinite(value):
        return _UNKNOWN
    for step, unit in _BYTE_STEPS:
        if abs(value) >= step * 0.9995:
            return f"{_short(value / step)} {unit}"
    whole = round(value)
    return f"{whole} {'byte' if abs(whole) == 1 else 'bytes'}"


def share(value: float) -> str:
    """Return a share (0 to 1) as percent: `61 %`, `0.4 %`."""
    if not math.isfinite(value):
        return _UNKNOWN
    percent = value * 100
    if 0 < abs(percent) < 0.05:
        # A little was measured; `0.0 %` would read as nothing.
        return "under 0.1 %"
    return f"{percent:.1f} %" if 0 < abs(percent) < 0.95 else f"{percent:.0f} %"


def factor(value: float) -> str:
    """Return a speed-up: `1.4×`, `12×`; near one with two digits, `1.05×`."""
    if not math.isfinite(value):
        return _UNKNOWN
    if 0.905 <= value < 1.095:
        # 1.05 is the least worth telling; rounded to `1.1×` it would be twice the gain.
        return f"{value:.2f}×"
    return f"{value:.1f}×" if value < 9.95 else f"{value:,.0f}×"


def count(value: float) -> str:
    """Return a whole number with thousands separated: `12,345`."""
    return f"{round(value):,}" if math.isfinite(value) else _UNKNOWN


def rate(value: float) -> str:
    """Return a number per second: `120/s`, `3.4/s`, `0.02/s`."""
    if not math.isfinite(value):
        return _UNKNOWN
    return f"{value:.1g}/s" if abs(value) < 0.0995 else f"{_short(value)}/s"


def quantity(value: float, unit: str) -> str:
    """Return `value` as text for the unit an `Evidence` carries."""
    formats = {
        "s": seconds,
        "bytes": size,
        "share": share,
        "factor": factor,
        "count": count,
        "per_s": rate,
    }
    return formats[unit](value)


def _short(value: float) -> str:
    """Return two significant digits below ten, whole numbers above."""
    return f"{value:.1f}" if abs(value) < 9.95 else f"{value:,.0f}"
