"""Single batches of any form."""

import numpy as np
import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials import batch_elements

pytestmark = pytest.mark.loads_tf


def batch(rows, width=3):
    return {"a": np.ones((rows, width), "float32")}, np.zeros(rows, "int32")


def test_rows_are_those_of_the_first_part(tf):
    assert batch_elements.batch_rows(batch(5)) == 5
    assert batch_elements.batch_rows(tf.ragged.constant([[1], [2, 3], []])) == 3
    assert batch_elements.batch_rows(tf.sparse.from_dense([[1, 0], [0, 2]])) == 2


def test_single_samples_are_refused_with_the_line_to_add(tf):
    with pytest.raises(ModelError, match=r"one sample at a time(?s:.*)dataset\.batch\(32\)"):
        batch_elements.batch_rows((np.ones(3), np.float32(1)))


def test_sizes_are_those_of_all_parts(tf):
    assert batch_elements.element_bytes(batch(5)) == 5 * 3 * 4 + 5 * 4
    assert batch_elements.element_bytes((tf.zeros((2, 3)), tf.zeros(2, tf.int64))) == 40


@pytest.mark.parametrize(
    "elements",
    [
        [batch(4), batch(4), batch(4)],
        [batch(4), batch(4), batch(2)],
        [batch(4, 1), batch(3, 2), batch(2, 3), batch(4, 1)],
        [batch(4)],
    ],
    ids=["alike", "a smaller last one", "all different", "one"],
)
def test_batches_in_memory_come_as_they_are(tf, elements):
    made = list(batch_elements.as_dataset(elements))
    assert [(x["a"].shape, y.shape[0]) for x, y in made] == [
        (x["a"].shape, len(y)) for x, y in elements
    ]


def test_ragged_batches_in_memory_come_as_they_are(tf):
    elements = [(tf.ragged.constant([[1.0], [2.0, 3.0]]), tf.constant([0, 1]))] * 2
    made = list(batch_elements.as_dataset(elements))
    assert [x.to_list() for x, _ in made] == [[[1.0], [2.0, 3.0]]] * 2


def test_lists_become_tuples_and_missing_weights_go(tf):
    x, y = batch(2)
    assert batch_elements.as_tuples([[x, x], y, None]) == ((x, x), y)


@pytest.mark.parametrize(
    ("element", "expected"), [((1, 2), True), ((1,), False), ({"a": 1}, False), (1, False)]
)
def test_labels_are_the_second_part(element, expected):
    assert batch_elements.has_labels(element) is expected


def test_the_first_rows_are_cut_to_fit(tf):
    found = list(batch_elements.first_rows([batch(4)] * 5, 10, 10**9))
    assert [len(y) for _, y in found] == [4, 4, 2]


def test_the_first_rows_end_where_memory_does(tf):
    found = list(batch_elements.first_rows([batch(4)] * 5, 1000, 65))
    assert len(found) == 2


def test_sparse_rows_are_cut_too(tf):
    sparse = tf.sparse.from_dense([[1, 0], [0, 2], [3, 0]])
    (found,) = batch_elements.first_rows([sparse], 2, 10**9)
    assert tf.sparse.to_dense(found).numpy().tolist() == [[1, 0], [0, 2]]


def test_more_samples_than_there_are_is_refused():
    with pytest.raises(ModelError, match=r"a batch of 1,024 needs more samples than .* \(600\)"):
        batch_elements.require_samples(600, 1024)
