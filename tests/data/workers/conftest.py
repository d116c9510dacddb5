"""Supplies of batches without TensorFlow, whose workers end with the test."""

import pytest

from quickfit.data.workers.plan import GeneratorOptions, plan_generator
from quickfit.data.workers.supply import BatchSupply

AS_DEFAULT = {
    "workers": 2,
    "kind": "processes",
    "ordered": True,
    "batch": 4,
    "shuffle": False,
    "seed": 1,
    "prefetch": None,
    "on_error": "raise",
    "drop_remainder": False,
    "setup": None,
}


@pytest.fixture
def plan():
    """Return a function that plans as `generator` would, with small batches."""
    return lambda fn, items=None, **given: plan_generator(
        fn, items, GeneratorOptions(**{**AS_DEFAULT, **given})
    )


@pytest.fixture
def supply(plan):
    """Return a function that makes a supply; two processes and batches of four by default."""
    made = []

    def make(fn, items=None, *, layout=None, **given):
        made.append(BatchSupply(plan(fn, items, **given), layout))
        return made[-1]

    yield make
    for one in made:
        one.close()
