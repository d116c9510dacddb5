"""What a trial kept is read back, also where it was ended while it wrote."""

import json

import numpy as np

from quickfit.proof.kept import read_results
from quickfit.trial.spec import RESULTS_FILE, ROWS_FILE, WEIGHTS_FILE


def lines(folder, *facts, tail=""):
    text = "".join(json.dumps(fact) + "\n" for fact in facts)
    (folder / RESULTS_FILE).write_text(text + tail)


BATCH = {"kind": "batch", "channel": "fit", "digests": ["a", "b"], "small": [[1], [2]]}
LOSS = {"kind": "loss", "step": 1, "values": {"loss": (0.1).hex()}}
WEIGHTS = {"kind": "weights", "step": 1, "digest": "d", "time_s": 0.1}


def test_where_nothing_was_kept_all_is_empty(tmp_path):
    found = read_results(tmp_path)
    assert (found.losses, found.weights, found.batches, found.last_weights) == ({}, {}, {}, 0)
    assert found.rows() == {}
    assert found.weights_at(1) == []


def test_all_that_was_kept_is_found(tmp_path):
    lines(tmp_path, BATCH | {"rough": [[0.5], [0.6]]}, LOSS, WEIGHTS)
    found = read_results(tmp_path)
    assert found.losses == {1: {"loss": 0.1}}
    assert found.weights == {1: "d"}
    (batch,) = found.batches["fit"]
    assert (batch.digests, batch.small, batch.rough) == (("a", "b"), ((1,), (2,)), ((0.5,), (0.6,)))


def test_rows_are_counted_over_all_channels(tmp_path):
    batch = BATCH | {"rough": [[], []]}
    lines(tmp_path, batch, batch | {"channel": "next"}, LOSS, batch)
    found = read_results(tmp_path)
    assert [b.first_row for b in found.batches["fit"]] == [0, 4]
    assert [b.first_row for b in found.batches["next"]] == [2]


def test_a_line_that_was_cut_ends_it(tmp_path):
    lines(tmp_path, LOSS, tail='{"kind": "loss", "st')
    assert list(read_results(tmp_path).losses) == [1]


def test_arrays_that_were_cut_are_as_if_they_were_not_there(tmp_path):
    lines(tmp_path, LOSS)
    (tmp_path / ROWS_FILE).write_bytes(b"PK\x03\x04 cut")
    (tmp_path / WEIGHTS_FILE).write_bytes(b"")
    found = read_results(tmp_path)
    assert found.rows() == {}
    assert found.weights_at(1) == []


def test_weights_come_in_the_order_they_were_made(tmp_path):
    arrays = {f"000002_{n:05d}": np.full(1, n) for n in (10, 2, 0)}
    np.savez(tmp_path / WEIGHTS_FILE, **arrays, **{"000001_00000": np.full(1, 99)})
    assert [int(a[0]) for a in read_results(tmp_path).weights_at(2)] == [0, 2, 10]


def test_pickled_arrays_are_not_opened(tmp_path):
    np.savez(tmp_path / ROWS_FILE, **{"000000": np.array([{"a": 1}], object)})
    assert read_results(tmp_path).rows() == {}
