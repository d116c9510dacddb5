"""What is said of numbers that are not finite."""

import pytest

from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.op_watch import NumberTally


def numbers(dtype="float32", largest=1.0):
    return NumberTally(nan=1, inf=0, size=2, low=-largest, high=largest, dtype=dtype)


@pytest.mark.parametrize(
    ("found", "given", "op", "said"),
    [
        pytest.param(numbers(), numbers(), "Log", "log(0) is -Inf", id="log"),
        pytest.param(numbers("float16"), numbers(), "Log", "log(0) is -Inf", id="log in float16"),
        pytest.param(numbers("float16"), numbers(), "MatMul", "float16 ends at", id="float16"),
        pytest.param(numbers("float16"), None, "Exp", "exp overflows", id="exp in float16"),
        pytest.param(numbers(), numbers(largest=1e30), "MatMul", "too large already", id="large"),
        pytest.param(numbers(), None, None, "Look for log, sqrt", id="nothing is known"),
    ],
)
def test_a_layer_is_explained_by(found, given, op, said):
    assert said in hints.of_layer(found, given, op)


def test_weights_have_exploded_only_where_they_are_huge():
    assert hints.of_weights(50.0, 0.1) == ""
    assert "reach 1e+09" in hints.of_weights(1e9, None)
    assert "learning rate of 10," in hints.of_weights(1e9, 10.0)


def test_a_loss_with_a_logarithm_asks_for_from_logits():
    assert "from_logits" in hints.of_loss("Log")
    assert "from_logits" not in hints.of_loss("RealDiv")
    assert "an empty mask" in hints.of_loss(None)


def test_sums_and_products_of_finite_numbers_have_overflowed():
    found = NumberTally(nan=0, inf=1, size=4, low=0.0, high=1.0, dtype="float32")
    assert hints.of_layer(found, None, "MatMul").startswith("An overflow: MatMul of finite numbers")
    assert "orthogonal" in hints.of_recurrence("float32")
    assert not hints.is_overflow("Log")
