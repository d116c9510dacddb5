"""Random numbers are the same in each trial, as far as the script leaves them open."""

from types import SimpleNamespace

import numpy as np
import pytest

from quickfit.lab.sandbox import seeds
from trials import tried


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


OPEN = """
import random, numpy as np
rng = np.random.default_rng()
print(random.random(), np.random.rand(), rng.random(), np.random.default_rng().random())
print(hash("text"))
from numpy.random import default_rng
print(default_rng().random())
"""


def test_two_trials_draw_the_same_numbers(home):
    first, second = tried(home, OPEN), tried(home, OPEN)
    assert first.out == second.out
    assert len(set(first.out.split())) == 6


def test_a_seed_of_the_scripts_own_stays_what_it_is(home):
    text = """
import random, numpy as np
random.seed(7); np.random.seed(7)
print([random.random(), np.random.rand(), np.random.default_rng(7).random()])
"""
    import random

    state = random.Random(7)
    numbers = [state.random(), np.random.RandomState(7).rand(), np.random.default_rng(7).random()]
    assert tried(home, text).out == f"{numbers}\n"


def test_each_generator_without_a_seed_has_one_of_its_own():
    module = SimpleNamespace(seed=lambda seed: None, default_rng=np.random.default_rng)
    seeds.patches(5)["numpy.random"](module)
    one, other = module.default_rng(), module.default_rng()
    assert one.random() == np.random.default_rng(5).random()
    assert other.random() == np.random.default_rng(6).random()
    assert module.default_rng(9).random() == np.random.default_rng(9).random()
    given = np.random.default_rng(1)
    assert module.default_rng(given) is given


class Context:
    """TensorFlow's, as far as a seed is concerned."""

    def __init__(self, seed):
        self.seed = seed

    def executing_eagerly(self):
        return True

    def context_safe(self):
        return self

    def global_seed(self):
        return self.seed


def tensorflow(seed=None):
    context = Context(seed)
    module = SimpleNamespace(context=context, asked=[])
    module.get_seed = lambda op_seed: (context.seed, op_seed)
    module.set_seed = lambda value: setattr(context, "seed", value)
    seeds.patches(5)["tensorflow.python.framework.random_seed"](module)
    return module


def test_tensorflow_is_seeded_when_the_first_number_is_drawn():
    module = tensorflow()
    assert module.context.seed is None
    assert module.get_seed(3) == (5, 3)


def test_a_seed_that_the_script_gave_tensorflow_stays():
    assert tensorflow(seed=42).get_seed(None) == (42, None)


def test_tensorflow_is_seeded_once_and_never_again():
    module = tensorflow()
    module.get_seed(None)
    module.context.seed = None
    assert module.get_seed(None) == (None, None)
