"""Speeds, stages and feeds in one line, and a clock that moves when an element is made."""

import json
from pathlib import Path

from quickfit.data.speed.feeds import IterableFeed
from quickfit.data.speed.figures import (
    IdealSpeed,
    MachineUse,
    MemoryUse,
    Speed,
    SpeedLimit,
    StageFigures,
    TimeSpan,
)
from quickfit.data.speed.timing import MachineReading
from quickfit.pipeline_model.snapshot import Node, Operation, Snapshot

HERE = Path(__file__).parent


def stage(name="map(decode)", kind="map", work_s=0.02, share=1.0, parallelism=1.0, **more):
    """Return a stage; its period follows from its work and threads."""
    period_s = more.pop("period_s", work_s / parallelism)
    return StageFigures(name, kind, work_s, share, parallelism, period_s, **more)


def machine(cores=2.0, other_cores=0.0, **more):
    """Return a machine without an accelerator."""
    return MachineUse(cores, other_cores, "CPU", True, **more)


def span(elements=100, batch=32, element_s=0.02, element_cpu_s=0.02):
    """Return a stretch of batches."""
    return TimeSpan(elements, elements * batch, elements * element_s, elements * element_cpu_s)


def speed(**changes):
    """Return a speed of a pipeline whose one map is the limit."""
    values = {
        "name": "train.py:make",
        "total": span(),
        "blocks": (span(50), span(50)),
        "first_s": 0.1,
        "first_pass": None,
        "has_cache": False,
        "passes": 0,
        "stages": (stage(share=0.9), stage("batch(32)", "batch", 0.002, 0.1)),
        "no_stages": None,
        "memory": MemoryUse(300_000_000, 350_000_000, 4_000_000, 8_000_000_000),
        "machine": machine(),
        "limit": SpeedLimit("stage", "map(decode) runs on one thread", "map(decode)"),
        "ideal": IdealSpeed(0.01, "20 ms CPU per batch on 2 cores"),
        "step": None,
    }
    return Speed(**{**values, **changes})


def recorded(name):
    """Return the looks at a real pipeline, its operations, and the last of them."""
    found = json.loads((HERE / f"{name}.json").read_text())
    operations = {
        one["id"]: Operation(**{**one, "inputs": tuple(one["inputs"])})
        for one in found["operations"]
    }
    return [_snapshot(look) for look in found["looks"]], operations, found["top"]


def _snapshot(look):
    nodes = {
        int(number): Node(**{**node, "inputs": tuple(node["inputs"])})
        for number, node in look["nodes"].items()
    }
    return Snapshot(**{**look, "nodes": nodes})


class Clock:
    """Time that stands still until somebody moves it."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s

    def read(self):
        """Return the counters of a machine on which all time is CPU time of this process."""
        return MachineReading(self.now_s, self.now_s, self.now_s, 0)


class Source:
    """Something iterable whose elements take time on a clock, a first one more of it."""

    def __init__(self, clock, *, count, element_s=0.1, first_s=0.1, element=0):
        self.clock, self.count, self.element = clock, count, element
        self.element_s, self.first_s = element_s, first_s
        self.made = 0

    def __iter__(self):
        for number in range(self.count):
            self.clock.now_s += self.element_s if number else self.first_s
            self.made += 1
            yield self.element


def feed(clock, **more):
    """Return a feed over a `Source`."""
    return IterableFeed(Source(clock, **more), "made")
