"""One child process that trains a model with one setting, on command."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from quickfit.tuning.trials.answers import Block, Learned, Ready
from quickfit.tuning.trials.process import Child
from quickfit.tuning.trials.recipes import Kind, Recipe
from quickfit.tuning.trials.settings import Setting

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
        recipe: Recipe,
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
        self._child: Child | None = None
        self._scratch: Path | None = None
        self._ready: Ready | None = None

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
        here = [str(self.recipe.cwd)] if self.recipe.kind is Kind.NAME else []
        path = json.dumps([*here, *sys.path])
        self._child = Child(
            [sys.executable, "-c", _PROGRAM, path],
            cwd=self.recipe.cwd,
            env=self._env,
            log=self._scratch / "log.txt",
            limit_bytes=self._limit_bytes,
        )
        self._child.send(self._order(self._scratch))

    def ready(self) -> Ready:
        """Wait until the model is built and traced and the first steps are done.

        Raises:
            TrialFailed: it came to nothing.
        """
        if self._ready is None:
            self.start()
            self._ready = Ready(**self._answer())
        return self._ready

    def run(self, steps: int) -> Block:
        """Train for some steps.

        Args:
            steps: at least so many; whole calls where several steps are one call.

        Raises:
            TrialFailed: it came to nothing.
        """
        return Block(**self._asked({"do": "run", "steps": steps}))

    def learn(self, samples: int) -> Learned:
        """Train from the first weights on the data from its beginning; see how far it comes.

        Args:
            samples: to train on, rounded up to whole steps.

        Raises:
            TrialFailed: it came to nothing.
        """
        return Learned(**self._asked({"do": "learn", "samples": samples}))

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
        if recipe.kind is Kind.FUNCTION:
            payload.write_bytes(recipe.payload)
        return {
            "parent": os.getpid(),
            "scratch": str(scratch),
            "limit_bytes": self._limit_bytes,
            "setting": self.setting.as_json(),
            "recipe": {
                "kind": recipe.kind,
                "name": recipe.name,
                "path": str(payload if recipe.kind is Kind.FUNCTION else recipe.folder),
                "batch_size": recipe.batch_size,
            },
        }
