"""One growth has one explanation."""

import pytest

from memory_runs import LOOP, flat, memory_run, rising, traced

GROWS = {"rss": rising(5e6, 6e8)}
ALL = {"tensors": (50, 450), "graphs": (10, 410), "operations": (100, 9000)}


def larger(signals):
    """Make every batch larger than the one before."""
    for place, row in enumerate(signals.recording.main.tables["pipelines"]):
        row["nodes"][0][4] = (place + 10) ** 2 * 10**6
    return signals


@pytest.mark.parametrize(
    ("signals", "kind"),
    [
        (memory_run(**GROWS), ""),
        (memory_run(source=LOOP, **GROWS), ""),
        (larger(memory_run(objects=ALL, **GROWS)), "data"),
        (traced(memory_run(objects=ALL, python_blocks=rising(30_000), **GROWS), 1), "traces"),
        (traced(memory_run(objects=ALL, python_blocks=flat(9), **GROWS), 20), "tensors"),
        (memory_run(objects={"operations": (100, 9000)}, **GROWS), "graph"),
    ],
)
def test_the_first_that_explains_it_is_taken(signals, kind):
    assert signals.leak.kind == kind


def test_no_leak_has_no_kind():
    assert memory_run(objects=ALL).leak is None
