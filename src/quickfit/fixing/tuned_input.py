"""What waiting for input means for the settings of a script: how much can be gained where."""

from __future__ import annotations

from quickfit import units
from quickfit.fixing.commands import words_of
from quickfit.launch.target import Target

# Below this, waiting is not worth a word; from the second on, it is what most of a step does.
SAID_SHARE = 0.3
LIMIT_SHARE = 0.5


def is_limit(wait_share: float | None) -> bool:
    """Tell whether a step mostly waits for input."""
    return wait_share is not None and wait_share >= LIMIT_SHARE


def input_gain(wait_share: float | None) -> float | None:
    """Return the most that input gains which nobody waits for; None where it was not measured."""
    return 1 / (1 - wait_share) if wait_share is not None and wait_share < 1.0 else None


def input_text(wait_share: float | None, target: Target) -> str:
    """Return what can be gained by other input and by settings; nothing where few waits are."""
    if wait_share is None or wait_share < SAID_SHARE:
        return ""
    first = "Your input is the limit: " if is_limit(wait_share) else ""
    gain = input_gain(wait_share)
    most = f"Without the wait it is {gain:.2f}× as fast at most; settings" if gain else "Settings"
    return (
        f"{first}{units.share(wait_share)} of a step waits for data. {most} gain at"
        f" most the other {units.share(1 - wait_share)}.\n"
        f"{'First' if first else 'For the input'}: quickfit fix {words_of(target)}"
    )
