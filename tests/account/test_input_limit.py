"""What an input-bound run has run out of."""

import pytest

from quickfit.account.input_limit import limit_of_input

from builders import run


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            {"input": "generator", "batch_s": 0.08}, "one Python thread makes all batches", id="gil"
        ),
        pytest.param(
            {"runs_python": True, "map_s": 0.09},
            "it runs Python, of which one thread works at a time",
            id="python in a map",
        ),
        pytest.param(
            {"cpu_cores": 1.2, "other_cores": 0.7, "map_s": 0.15},
            "all cores are busy: it needs cheaper work or a cache, not more workers",
            id="cores, whoever uses them",
        ),
        pytest.param(
            {"cpu_cores": 1.0, "map_s": 0.09, "parallelism": 1.0},
            "it runs on one thread while cores are idle",
            id="one thread",
        ),
        pytest.param({"cpu_cores": 1.0, "map_s": 0.09}, "", id="nothing that was measured"),
        pytest.param({"steps": 1}, "", id="one step, which also compiles"),
        pytest.param({"steps": 20, "epochs": 1, "cpu_cores": 1.0}, "", id="one start of an epoch"),
        pytest.param({"steps": 10, "with_model": False}, "", id="nobody looked at it"),
    ],
)
def test_the_limit_is(given, expected):
    assert limit_of_input(run(input_wait_s=0.06, **given)) == expected


def test_the_start_of_epochs_is_named_when_most_of_the_wait_is_there():
    said = limit_of_input(run(input_wait_s=0.001, epoch_start_s=2.0, cpu_cores=1.0))
    assert said == "most of it at the start of epochs, 2.0 s each"
