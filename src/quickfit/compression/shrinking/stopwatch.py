"""How long a Keras model takes, asked while candidates are made: for pruning to a speed."""

from __future__ import annotations

from typing import Any

from quickfit.compression.calibration import Samples
from quickfit.compression.graph import graph_of, rebuilt
from quickfit.compression.weighing.feeding import feed_of
from quickfit.compression.weighing.keras_jobs import KerasJobs
from quickfit.compression.weighing.scales import BATCHES
from quickfit.compression.weighing.tracing import without_tracing_advice
from quickfit.compression.weighing.turns import TURN_S, WARM_UPS, Clocks, Job, timed
from quickfit.errors import ModelError

# Models are `Any`: Keras has no types of its own.

# Longer than most hiccups of a shared machine; a whole search asks ten times or so.
_TURNS = 3


class Stopwatch:
    """Tells the seconds of a training step, or of a prediction of one sample.

    The first model it is asked about, the original, stays ready: it is asked about again and again.

    Args:
        samples: what the models read.
        for_training: which of the two.
        clocks: where the time is read.
    """

    def __init__(
        self, samples: Samples, *, for_training: bool, clocks: Clocks | None = None
    ) -> None:
        self._samples, self._for_training = samples, for_training
        self._clocks = clocks or Clocks()
        self._first: tuple[Any, Job] | None = None

    def __call__(self, model: Any) -> float:
        """Return the shortest time."""
        with without_tracing_advice():
            job = self._job(model)
            turns = [timed(job, TURN_S, self._clocks) for _ in range(_TURNS)]
        return min(turn.fastest_s for turn in turns)

    def _job(self, model: Any) -> Job:
        if self._first is not None and self._first[0] is model:
            return self._first[1]
        job = self._made(model)
        for _ in range(WARM_UPS):
            job()
        if self._first is None:
            self._first = model, job
        return job

    def _made(self, model: Any) -> Job:
        graph = graph_of(model)
        jobs = KerasJobs(graph, rebuilt(graph), feed_of(graph, self._samples, max(BATCHES)))
        job = jobs.step(max(BATCHES)) if self._for_training else jobs.call(min(BATCHES))
        if job is None:
            raise ModelError(f"'{graph.name}' has nothing to train, so a step takes no time.")
        return job
