"""What is tried."""

from quickfit.compression.shrinking.plan import (
    FILE_KINDS,
    FLOPS,
    SPEED,
    Step,
    file_kinds,
    file_name,
    only_separable,
    recipes,
)
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


def test_operations_in_numbers_are_pruned_to_where_the_original_has_more():
    target = target_of("at most 1 million flops")
    assert recipes(target, 4_000_000)[0].steps == (Step(FLOPS, 0.25),)
    assert recipes(target, 900_000) == recipes(target) == recipes(Target())


def test_a_speed_is_pruned_to_last_and_with_a_margin():
    *others, last = recipes(target_of("2x faster, at most 1 point"))
    assert last.name == "pruned-2.0x"
    assert last.title == "pruned until it is 2.0× as fast"
    assert last.steps == (Step(SPEED, 2.1),)
    assert others == recipes(Target())
    assert recipes(target_of("under 2 ms")) == recipes(Target())


def test_only_the_separable_ones_can_be_asked_for():
    names = [one.name for one in only_separable(recipes(target_of("2x faster")))]
    assert names == ["separable-1", "separable-2"]


def test_four_bits_are_tried_where_size_counts():
    assert file_kinds(target_of("2x faster")) == FILE_KINDS
    assert file_kinds(target_of("half the size")) == (*FILE_KINDS, "int4")
    assert file_kinds(target_of("as small as possible")) == (*FILE_KINDS, "int4")
