"""What a map decodes and what it hands on, from the files or by their bytes."""

import pytest

from quickfit.pipeline_model.match import Operation
from quickfit.signals.dataset_chains import (
    below,
    cached_below,
    draws_random,
    main_line,
    may_be_random,
    shrunk_images,
)

from builders import run

SHRINK = {"decoder": "DecodeJpeg", "ratio": 2, "to": [100, 100], "is_cropped": False}
FACTS = {"shrinks": [SHRINK], "ops": ["DecodeJpeg"]}


def test_sizes_from_the_files_count_with_the_ratio_of_the_decoder():
    sizes = [["jpeg", 10, 10, 90], ["jpeg", 400, 600, 100], ["jpeg", 4000, 4000, 110]]
    images = shrunk_images(run(map_facts=FACTS, source_facts={"image_sizes": sizes}))
    assert images is not None
    assert (images.height, images.width, images.looks) == (400, 600, 3)
    assert images.bytes == pytest.approx(100)
    assert images.times == pytest.approx(400 * 600 / 4 / 10_000)


def test_without_them_a_jpeg_s_bytes_say_how_large_it_is_at_least():
    images = shrunk_images(run(map_facts=FACTS, source_bytes=500_000))
    assert images is not None
    assert images.looks == 0
    assert images.height * images.width == pytest.approx(1e6)


def test_bytes_say_nothing_of_other_formats():
    facts = {"shrinks": [{**SHRINK, "decoder": "DecodeImage"}]}
    assert shrunk_images(run(map_facts=facts, source_bytes=500_000)) is None


def test_the_largest_target_counts():
    facts = {"shrinks": [SHRINK, {**SHRINK, "to": [300, 200]}, {**SHRINK, "to": None}]}
    images = shrunk_images(run(map_facts=facts, source_bytes=500_000))
    assert images is not None
    assert (images.to_height, images.to_width) == (300, 200)


def test_a_map_that_shrinks_nothing_is_none():
    assert shrunk_images(run()) is None


def operation(number=1, kind="map", inputs=(), **facts):
    return Operation(number, kind, "train.py", number, tuple(inputs), facts)


@pytest.mark.parametrize(
    "op",
    ["RandomUniform", "StatelessRandomUniformV2", "StatefulUniform", "RngReadAndSkip",
     "SampleDistortedBoundingBoxV2", "StatelessRandomGetKeyCounter", "Multinomial"],
)  # fmt: skip
def test_operations_that_draw_numbers_are_random(op):
    assert draws_random(operation(ops=["Cast", op]))
    assert may_be_random(operation(ops=["Cast", op]))


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"ops": ["Cast"]}, id="without state"),
        pytest.param({"ops": ["Assert"], "is_stateful": True}, id="a check"),
        pytest.param({"ops": ["LookupTableFindV2"], "is_stateful": True}, id="words"),
        pytest.param({"ops": ["If", "DecodePng"], "is_stateful": True}, id="a condition"),
    ],
)
def test_what_gives_the_same_every_time_is_not(facts):
    assert not may_be_random(operation(**facts))


@pytest.mark.parametrize(
    "op",
    [
        pytest.param(operation(runs_python=True), id="Python"),
        pytest.param(operation(ops=["Unheard"], is_stateful=True), id="unknown state"),
        pytest.param(operation(ops=["Assert", "AssignVariableOp"], is_stateful=True), id="writes"),
        pytest.param(operation(ops=[f"Op{n}" for n in range(60)]), id="a list that was cut"),
        pytest.param(operation(kind="shuffle"), id="a shuffle"),
        pytest.param(operation(kind="generator"), id="a generator"),
    ],
)
def test_in_doubt_it_may_be_random(op):
    assert may_be_random(op)


def test_a_chain_is_followed_to_where_it_branches():
    one, two = operation(1, "range"), operation(2, "range")
    both = operation(3, "zip", (1, 2))
    cache = operation(4, "cache", (3,))
    top = operation(5, "batch", (4,), sub=[2])
    known = {op.id: op for op in (one, two, both, cache, top)}
    assert [op.id for op in main_line(top, known)] == [5, 4, 3]
    assert set(below(top, known)) == {1, 2, 3, 4, 5}
    assert set(cached_below(main_line(top, known), known)) == {1, 2, 3, 4}
