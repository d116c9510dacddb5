"""Makes a fresh process one that harms nobody, before the user's code is loaded."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress

from quickfit.errors import ModelError
from quickfit.tuning.numerics.backend import require_tensorflow
from quickfit.tuning.trials import caches, memory
from quickfit.tuning.trials.orders import Order
from quickfit.tuning.trials.settings import Setting

_PR_SET_PDEATHSIG = 1


def be_harmless(parent: int) -> None:
    """End with the process that asked, and be the first to go where memory runs out."""
    if sys.platform.startswith("linux"):
        # Also ends a child that is stopped, which a closed pipe does not.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def load_tensorflow(order: Order) -> int:
    """Load TensorFlow, set its threads and the limit; return the memory that it all holds.

    Raises:
        ModelError: TensorFlow is not installed.
    """
    try:
        import keras
        import tensorflow as tf
    except ModuleNotFoundError as error:
        raise ModelError(
            f"{error.name} is not installed for {sys.executable}.\n"
            "Install it: pip install 'quickfit[cpu]', or 'quickfit[gpu]' for a GPU"
        ) from None
    require_tensorflow("A trial", keras.config.backend())
    caches.redirect(order.scratch)
    _set_threads(order.setting)
    if order.limit_bytes is not None:
        tf.constant(0) + 1  # starts the runtime, whose threads have stacks
        memory.limit_growth(order.limit_bytes)
    return memory.held_bytes()


def _set_threads(setting: Setting) -> None:
    import tensorflow as tf

    if setting.intra_threads is not None:
        tf.config.threading.set_intra_op_parallelism_threads(setting.intra_threads)
    if setting.inter_threads is not None:
        tf.config.threading.set_inter_op_parallelism_threads(setting.inter_threads)


def check_threads(setting: Setting) -> None:
    """See that the user's code has left the threads as the setting has them.

    Raises:
        ModelError: it has set them itself.
    """
    import tensorflow as tf

    threading = tf.config.threading
    for wanted, found, what in (
        (setting.intra_threads, threading.get_intra_op_parallelism_threads(), "intra"),
        (setting.inter_threads, threading.get_inter_op_parallelism_threads(), "inter"),
    ):
        if wanted is not None and wanted != found:
            raise ModelError(
                f"your code sets the {what}-op threads to {found} itself, so {wanted} cannot be "
                f"tried. Remove its call of tf.config.threading.set_{what}_op_parallelism_threads."
            )
