"""Functions that the workers of a pool run in tests; plain modules import fast."""

import os
import signal


def double(item, common, say):
    """Return twice the item, and say what it is about to do."""
    say(f"doubling {item}")
    return common * item


def die_over(item, common, say):
    """Kill this process over one item."""
    if item == common:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def fail(item, common, say):
    """Raise an error of the program."""
    raise ValueError(f"cannot do {item}")


def wait_forever(item, common, say):
    """Say the number of this process, and wait."""
    say(os.getpid())
    signal.pause()
