"""One child process that trains a model with one setting, on command, in a scratch folder."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import TIMEOUT_MAX, Event, Timer
from typing import Any, Protocol, Self

from quickfit.lab.child import kill_group
from quickfit.tuning.trials.process import LOCK, TrialChild, hold_folder
from quickfit.tuning.trials.settings import (
    RecipeKind,
    Setting,
    TrialBlock,
    TrialLearned,
    TrialReady,
    TrialRecipe,
)

# A program without a file: the user's modules are imported by it, and never run as __main__.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from quickfit.tuning.trials.child import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
# Where the user has set nothing. Hashes are fixed: class names in a set keep their order.
_ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    "PYTHONHASHSEED": "0",
}


class Trial:
    """Trains in a process of its own, in blocks, and rests in between without using the CPU.

    The process that starts a trial must keep the thread that called `start`: Linux ends the
    child together with that thread.

    Args:
        recipe: where the model and the data come from.
        setting: what is different from the user's own way.
        limit_bytes: how much memory the child may take beyond what Python and TensorFlow need.
        patience_s: without a sign of life for so long, the child has hung.
        env: added to the environment.
    """

    def __init__(
        self,
        recipe: TrialRecipe,
        setting: Setting,
        *,
        limit_bytes: int | None = None,
        patience_s: float = 120.0,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.recipe = recipe
        self.setting = setting
        self._limit_bytes = limit_bytes
        self._patience_s = patience_s
        self._env = {**_ENVIRONMENT, **os.environ, **(env or {})}
        self._child: TrialChild | None = None
        self._scratch: Path | None = None
        self._ready: TrialReady | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The number of the child, or None where it has not been started."""
        return self._child.pid if self._child else None

    def start(self) -> None:
        """Start the child; returns at once. A trial that was started stays as it is."""
        if self._child is not None:
            return
        self._scratch = Path(tempfile.mkdtemp(prefix="quickfit-trial-"))
        weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        here = [str(self.recipe.cwd)] if self.recipe.kind is RecipeKind.NAME else []
        path = json.dumps([*here, *sys.path])
        self._child = TrialChild(
            [sys.executable, "-c", _PROGRAM, path],
            cwd=self.recipe.cwd,
            env=self._env,
            log=self._scratch / "log.txt",
            limit_bytes=self._limit_bytes,
        )
        self._child.send(self._order(self._scratch))

    def ready(self) -> TrialReady:
        """Wait until the model is built and traced and the first steps are done.

        Raises:
            TrialFailed: it came to nothing.
        """
        if self._ready is None:
            self.start()
            self._ready = TrialReady(**self._answer())
        return self._ready

    def run(self, steps: int) -> TrialBlock:
        """Train for some steps.

        Args:
            steps: at least so many; whole calls where several steps are one call.

        Raises:
            TrialFailed: it came to nothing.
        """
        return TrialBlock(**self._asked({"do": "run", "steps": steps}))

    def learn(self, samples: int) -> TrialLearned:
        """Train from the first weights on the data from its beginning; see how far it comes.

        Args:
            samples: to train on, rounded up to whole steps.

        Raises:
            TrialFailed: it came to nothing.
        """
        return TrialLearned(**self._asked({"do": "learn", "samples": samples}))

    def close(self) -> None:
        """End the child and remove its scratch folder; any number of times."""
        if self._child is not None:
            self._child.end()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _asked(self, command: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
        self.ready()
        assert self._child is not None
        self._child.go_on()
        self._child.send(command)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._child is not None
        answer = self._child.receive(self._patience_s)
        # Stopped, not only waiting: its input would fill all buffers, and the next block would
        # begin faster than the training is.
        self._child.hold()
        del answer["kind"]
        return answer

    def _order(self, scratch: Path) -> dict[str, Any]:
        recipe = self.recipe
        payload = scratch / "function.pickle"
        if recipe.kind is RecipeKind.FUNCTION:
            payload.write_bytes(recipe.payload)
        return {
            "parent": os.getpid(),
            "scratch": str(scratch),
            "limit_bytes": self._limit_bytes,
            "setting": self.setting.as_json(),
            "recipe": {
                "kind": recipe.kind,
                "name": recipe.name,
                "path": str(payload if recipe.kind is RecipeKind.FUNCTION else recipe.folder),
                "batch_size": recipe.batch_size,
            },
        }


_OWN = "quickfit-tune-"
PREFIXES = (_OWN, "quickfit-trial-", "quickfit-fix-")


@contextmanager
def scratch_folder(prefix: str = _OWN) -> Iterator[Path]:
    """Give an empty folder, and remove it in the end; first remove those left by dead processes.

    Args:
        prefix: how its name begins, one of `PREFIXES`.
    """
    sweep_folders(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as place:
        held = hold_folder(Path(place))
        try:
            inner = Path(place) / "kept"
            inner.mkdir()
            yield inner
        finally:
            os.close(held)


def sweep_folders(place: Path) -> None:
    """Remove our folders whose processes were killed, and so could not remove them.

    Only folders of this user that have the lock file, and where nobody holds its lock: the kernel
    lets go of it when a process ends, however it ends, and in whichever container.
    """
    for prefix in PREFIXES:
        for folder in place.glob(f"{prefix}*"):
            with suppress(OSError):  # somebody else's, gone meanwhile, or in use
                _remove_unused(folder)


def _remove_unused(folder: Path) -> None:
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


class TrainingTrial(Protocol):
    """What is used of a `Trial`: a process that trains on command."""

    @property
    def pid(self) -> int | None:
        """The number of its process, which is that of its group; None where there is none."""

    def start(self) -> None:
        """Begin; return at once."""

    def ready(self) -> TrialReady:
        """Wait until it is built and has made its first steps."""

    def run(self, steps: int) -> TrialBlock:
        """Train so many steps."""

    def learn(self, samples: int) -> TrialLearned:
        """Train from the first weights on so many samples; return how far it came."""

    def close(self) -> None:
        """End it."""


@contextmanager
def end_after(trial: TrainingTrial, seconds: float) -> Iterator[Event]:
    """End a trial that is still at work after so long; the event tells that it was.

    A trial that shows signs of life has not hung, and would be waited for as long as it takes.
    """
    is_over = Event()

    def end() -> None:
        is_over.set()
        if trial.pid is not None:
            kill_group(trial.pid)

    timer = Timer(min(seconds, TIMEOUT_MAX), end)
    timer.daemon = True
    timer.start()
    try:
        yield is_over
    finally:
        timer.cancel()
