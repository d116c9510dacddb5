"""How the answer of `find_nan` reads."""

from quickfit.tuning.numerics.culprit import Culprit
from quickfit.tuning.numerics.tally import Tally

BAD = Tally(nan=3, inf=0, size=64, low=-1.0, high=2.5, dtype="float32", first=(0, 7))
FINE = Tally(nan=0, inf=0, size=64, low=-2.0, high=0.0, dtype="float32")


def test_a_layer_reads_as_sentence_numbers_and_advice():
    culprit = Culprit(
        kind="layer",
        name="encoder/log",
        found=BAD,
        hint="log(0) is -Inf.",
        given=(("goes in", FINE),),
        op="Log",
        place="train.py:41",
    )
    assert str(culprit).splitlines() == [
        "the layer `encoder/log` went non-finite first, in the operation Log, at train.py:41",
        "  found    3 NaN of 64 float32 numbers, the first at [0, 7]; from -1 to 2.5",
        "  goes in  from -2 to 0 (float32)",
        "  log(0) is -Inf.",
    ]
    assert repr(culprit).startswith("<Culprit layer: the layer `encoder/log` went")


def test_what_was_bad_before_the_step_is_said_so():
    headline = Culprit("input", "x", BAD, "").headline
    assert headline == "the input `x` is not finite, before the step begins"


def test_a_gradient_names_the_first_weights_and_counts_the_others():
    weights = ("a/kernel", "a/bias", "b/kernel", "b/bias")
    culprit = Culprit("gradient", "norm", BAD, "Long advice. " * 12, weights=weights)
    lines = str(culprit).splitlines()
    assert lines[0] == "the gradient, going back through `norm`, went non-finite first"
    assert "  weights  a/kernel, a/bias, b/kernel and 1 more" in lines
    assert all(len(line) <= 100 for line in lines)
