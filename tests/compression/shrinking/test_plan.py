"""What is tried."""

from quickfit.compression.shrinking.plan import FLOPS, Step, file_name, recipes
from quickfit.compression.shrinking.targets import Target, target_of


def test_the_usual_ways_are_tried_and_have_names_of_their_own():
    names = [one.name for one in recipes(Target())]
    assert names == [
        "separable-1",
        "pruned-50",
        "pruned-25",
        "separable-1-pruned-25",
        "separable-2",
    ]
    assert file_name("pruned-50", "int8") == "pruned-50-int8"


def test_a_number_of_operations_is_pruned_to_first():
    first = recipes(target_of("3x fewer flops"))[0]
    assert (first.name, first.steps) == ("pruned-to-33", (Step(FLOPS, 1 / 3),))
    assert first.title == "pruned to 33 % of the operations"
