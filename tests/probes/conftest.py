"""A state of this process with a writer that only collects, and time that is injected."""

import pytest

from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State

PROBES = (
    *("fit_loop", "tf_data", "py_input", "py_functions", "retracing", "devices"),
    *("stacks", "machine", "memory", "eager_ops", "callbacks"),
)


class Collected:
    """Takes the rows that a writer would put on disk."""

    has_lost_files = False

    def __init__(self):
        self.tables = {}
        self.sources = []

    def add(self, table, row):
        self.tables.setdefault(table, []).append(row)

    def add_step(self, row):
        self.add("steps", row)

    def add_source(self, file):
        self.sources.append(file)

    def rows(self, table):
        return self.tables.get(table, [])


@pytest.fixture
def state(monkeypatch):
    """Watch this process, on paper."""
    made = State(Collected())
    made.probes = {name: Probe(name, state="active") for name in PROBES}
    monkeypatch.setattr(Current, "state", made)
    return made


class Clock:
    """Time that goes on by a second whenever it is read, or as it is told."""

    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    """Return a clock that stands still until `now_s` is changed."""
    return Clock()
