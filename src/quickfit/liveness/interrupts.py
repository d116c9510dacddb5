"""Tells from a growing recording whether a script has reacted to a Ctrl-C.

Python raises `KeyboardInterrupt` as soon as the main thread runs a line of Python again. So a main
thread that is on another line than before has reacted, and one that is still inside the call it was
in before has not: a `fit` that waits for a stalled generator stands there for ever.
"""

from __future__ import annotations

from quickfit.liveness.rows import NewRows

# Half a second has at most ten of them: this reaches back over the seconds that are asked about.
_MAX_SAMPLES = 400
_TWO_WINDOWS_S = 1.5
_OF_MAIN = (
    "SELECT samples.at_s, samples.stack FROM samples JOIN stacks ON stacks.id = samples.stack"
    " WHERE stacks.role = 'main' ORDER BY samples.rowid DESC LIMIT ?"
)


def has_reacted(rows: NewRows, interrupted_s: float) -> bool | None:
    """Tell whether a script has reacted to a Ctrl-C; None where that is not known (yet).

    Args:
        rows: the recording of the script's process.
        interrupted_s: when Ctrl-C was pressed, on the recording's clock.
    """
    if "ending_s" in rows.facts():
        return True  # its last line has run
    # Stacks are counted over half a second, and written at its end.
    windows: dict[float, set[int]] = {}
    for row in reversed(rows.ask(_OF_MAIN, _MAX_SAMPLES)):
        windows.setdefault(row["at_s"], set()).add(row["stack"])
    before = [stacks for at_s, stacks in windows.items() if at_s <= interrupted_s]
    # The first of these had begun before.
    meanwhile, *after = [s for at_s, s in windows.items() if at_s > interrupted_s] or [set()]
    if not after:
        # The process writes on, but its main thread has no line of Python left to run.
        is_over = windows and rows.since("machine", interrupted_s + _TWO_WINDOWS_S, 1)
        return True if is_over else None
    seen = set().union(*after)
    if len(seen) > 1 or not seen <= meanwhile:
        return True
    return False if before and seen <= before[-1] else None
