"""What may be done to a chain in the middle of a run: same elements, order, traces and seeds."""

import pytest

pytestmark = pytest.mark.loads_tf


@pytest.fixture
def exact():
    from quickfit.data.acceleration import exact as module

    return module


@pytest.fixture
def share_seeds():
    """Do to the shuffles of a chain what `quickfit.turbo` does when they are made."""
    from tensorflow.python.ops import gen_dataset_ops

    def share(dataset):
        for stage in (dataset, *dataset._inputs()):
            if type(stage).__name__ == "_ShuffleDataset":
                made = gen_dataset_ops.anonymous_seed_generator(stage._seed, stage._seed2, True)
                stage._quickfit_seeds, stage._quickfit_seeds_owner = made
            elif stage is not dataset:
                share(stage)
        return dataset

    return share


def elements(dataset):
    return [tuple(part.numpy().tobytes() for part in element) for element in dataset]


def test_what_comes_before_a_shuffle_is_kept_and_traced_once(tf, exact, share_seeds):
    traced = []

    def work(number):
        traced.append(number)
        return tf.cast(number, tf.float32) / 7, number

    def new():
        tf.random.set_seed(3)
        return tf.data.Dataset.range(40).map(work).shuffle(9).batch(8)

    plain = new()
    expected = [elements(plain) for _ in range(3)]
    dataset = share_seeds(new())
    found = exact.keep_in_memory(dataset)
    assert [elements(found.dataset) for _ in range(3)] == expected
    assert len(traced) == 2
    assert found.dataset.element_spec == dataset.element_spec
    assert found.what == "what `map(work)` gives kept in memory"
    assert (found.cause, found.per_step, found.files) == ("missing-cache", 8, ())


def test_a_shuffle_in_front_of_maps_is_moved_behind_them_with_the_same_order(
    tf, exact, share_seeds
):
    def new():
        dataset = tf.data.Dataset.range(40).shuffle(9, seed=3).repeat(2)
        dataset = dataset.map(lambda number: (tf.cast(number, tf.float32) / 7, number))
        dataset = dataset.map(lambda a, b: (a + 1, b), num_parallel_calls=2)
        return dataset.batch(8, drop_remainder=True)

    plain = new()
    expected = [elements(plain) for _ in range(3)]
    found = exact.keep_in_memory(share_seeds(new()))
    assert found.what.endswith("kept in memory and `shuffle` moved behind it")
    kinds = [type(made).__name__ for made, _ in found.origins]
    assert kinds.index("CacheDataset") < kinds.index("_ShuffleDataset")
    assert [elements(found.dataset) for _ in range(3)] == expected
    assert expected[0] != expected[1]


CHAINS = {
    "random numbers": (
        "draws random numbers",
        lambda tf, ds: ds.map(lambda i: tf.random.uniform(())),
    ),
    "in memory": ("its elements are in memory already", lambda tf, ds: ds.batch(4)),
    "Python": (
        "runs Python",
        lambda tf, ds: ds.map(lambda i: tf.numpy_function(lambda x: x, [i], tf.int64)),
    ),
    "any order": (
        "its order is not fixed",
        lambda tf, ds: ds.map(lambda i: i * 2, num_parallel_calls=2, deterministic=False),
    ),
    "cached by the script": (
        "its elements are in memory already",
        lambda tf, ds: ds.map(lambda i: i * 2).cache().batch(2),
    ),
    "a part": (
        "only a part of it may be taken",
        lambda tf, ds: ds.map(lambda i: i * 2).shuffle(3).take(2),
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_left_alone(name, tf, exact, share_seeds):
    reason, build = CHAINS[name]
    found = exact.keep_in_memory(share_seeds(build(tf, tf.data.Dataset.range(10))))
    assert found.dataset is None
    assert reason in found.reason


def test_a_variable_or_table_may_change_and_is_left_alone(tf, exact):
    offset = tf.Variable(1, dtype=tf.int64)
    found = exact.keep_in_memory(tf.data.Dataset.range(3).map(lambda i: i + offset))
    assert found.reason == "its function uses a variable or a table, which may change"


def test_a_generator_is_left_alone_and_its_end_is_seen(tf, exact):
    spec = tf.TensorSpec((), tf.int32)
    dataset = tf.data.Dataset.from_generator(lambda: iter(range(5)), output_signature=spec)
    found = exact.keep_in_memory(dataset.batch(2))
    assert found.reason == "a Python generator makes its elements"
    assert not exact.ends_unseen(dataset.batch(2))
    assert exact.ends_unseen(tf.data.Dataset.range(3).shuffle(3).batch(2))


def test_files_are_named_or_the_chain_is_left_alone(tf, exact, tmp_path):
    paths = []
    for number in range(3):
        paths.append(str(tmp_path / str(number)))
        (tmp_path / str(number)).write_bytes(b"x")
    found = exact.keep_in_memory(tf.data.Dataset.from_tensor_slices(paths).map(tf.io.read_file))
    assert found.files == tuple(paths)
    names = tf.data.Dataset.from_tensor_slices(["0", "1"])
    found = exact.keep_in_memory(names.map(lambda n: tf.io.read_file(str(tmp_path) + "/" + n)))
    assert found.reason == "it reads files whose names are not known"


def test_a_shuffle_whose_state_is_hidden_is_left_alone(tf, exact):
    found = exact.keep_in_memory(tf.data.Dataset.range(9).map(lambda i: i * 2).shuffle(3))
    assert found.reason == "the state of its shuffle cannot be shared"
