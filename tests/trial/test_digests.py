"""What is kept of a batch tells rows apart bit by bit, and says roughly what they look like."""

import json

import numpy as np
import pytest

from quickfit.trial.digests import BIG, STRETCHES, described


def images(rows=3, size=12, seed=0):
    return np.random.default_rng(seed).random((rows, size, size), np.float32)


def test_each_row_has_a_digest_over_all_parts():
    x, y = images(), np.array([0, 1, 2])
    kept = described([x, y])["digests"]
    assert len(set(kept)) == 3
    assert described([x[::-1], y[::-1]])["digests"] == kept[::-1]
    assert described([x, np.array([0, 1, 3])])["digests"][:2] == kept[:2]
    assert described([x, np.array([0, 1, 3])])["digests"][2] != kept[2]


def test_one_bit_is_seen():
    x = images()
    other = x.copy()
    other[1, 0, 0] = np.nextafter(other[1, 0, 0], 2)
    first, second = described([x])["digests"], described([other])["digests"]
    assert [a == b for a, b in zip(first, second, strict=True)] == [True, False, True]


def test_the_type_of_a_value_counts():
    x = np.arange(3)
    assert described([x.astype(np.int32)])["digests"] != described([x.astype(np.int64)])["digests"]


def test_how_rows_lie_in_memory_does_not_count():
    x = images()
    assert described([np.asfortranarray(x)])["digests"] == described([x])["digests"]


def test_small_parts_are_kept_as_they_are():
    kept = described([images(2), np.array([3, 4]), np.array([[0.5], [1.5]])])
    assert kept["small"] == [[3, 0.5], [4, 1.5]]
    many = described([np.arange(40).reshape(1, 40)])
    assert many["small"] == [list(range(40))]


def test_text_is_kept_in_a_form_that_json_takes():
    kept = described([np.array([b"a.jpg", b"\xff"], object), np.array(["x", "ü"])])
    assert kept["small"] == [["b'a.jpg'", "'x'"], ["b'\\xff'", "'ü'"]]
    json.dumps([kept["digests"], kept["small"], kept["rough"]])
    assert kept["digests"][0] != kept["digests"][1]


def test_large_parts_have_a_rough_picture_and_are_kept_in_full():
    x = images(2)
    kept = described([x, np.array([0, 1])])
    assert [len(row) for row in kept["rough"]] == [STRETCHES] * 2
    assert np.mean(kept["rough"][0]) == pytest.approx(x[0].mean(), abs=0.01)
    assert np.array_equal(kept["raw"][1], x[1].ravel())


def test_a_part_is_large_from_so_many_values_on():
    assert described([np.zeros((1, BIG - 1))])["rough"] == [[]]
    assert len(described([np.zeros((1, BIG))])["rough"][0]) == STRETCHES


def test_parts_without_rows_in_common_are_one_row():
    assert len(described([np.zeros(3), np.zeros(4)])["digests"]) == 1
    assert len(described([np.float32(2)])["digests"]) == 1
    assert described([np.float32(2)])["small"] == [[2.0]]


def test_an_empty_batch_is_one_row_without_values():
    assert described([np.zeros((0, 4))])["small"] == [[]]
