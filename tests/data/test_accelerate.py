"""`accelerate` keeps elements, order, types, length, options and state, and says what it did."""

import gc

import numpy as np
import pytest

from quickfit import data
from quickfit.data.acceleration import pipeline, rewrites, trials
from quickfit.data.acceleration.stages import Realizer, all_stages, read_stages
from quickfit.errors import UsageError

pytestmark = pytest.mark.loads_tf

ROWS = 60


def flat(tf, dataset, epochs=2):
    """Return all tensors of some epochs as bytes, with their types and shapes."""
    found = []
    for _ in range(epochs):
        for element in dataset:
            for leaf in tf.nest.flatten(element, expand_composites=True):
                array = leaf.numpy()
                held = array.tobytes() if array.dtype != object else tuple(np.ravel(array))
                found.append((str(array.dtype), array.shape, held))
        found.append("end")
    return found


def same(tf, first, second, epochs=2):
    """Check that two datasets give the same, also when they begin anew."""
    assert first.element_spec == second.element_spec
    assert int(first.cardinality()) == int(second.cardinality())
    assert flat(tf, first, epochs) == flat(tf, second, epochs)


def heavy(tf):
    def work(x):
        return tf.matmul(tf.fill((8, 8), tf.cast(x, tf.float32)), tf.eye(8))

    return work


def row(tf):
    def scale(x):
        return {"a": tf.cast(x, tf.float32) / 255.0 - 0.5, "b": tf.one_hot(x % 3, 3)}

    return scale


def record_file(tf, folder, name="a.tfrecord", count=40):
    file = str(folder / name)
    with tf.io.TFRecordWriter(file) as writer:
        for number in range(count):
            pixels = tf.train.BytesList(value=[bytes(range(number, number + 4))])
            value = tf.train.FloatList(value=[number / 7, 1.0])
            features = {
                "x": tf.train.Feature(float_list=value),
                "p": tf.train.Feature(bytes_list=pixels),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    return file


def parse(tf):
    fields = {
        "x": tf.io.FixedLenFeature([2], tf.float32),
        "p": tf.io.FixedLenFeature([], tf.string),
    }

    def parse_one(record):
        values = tf.io.parse_single_example(record, fields)
        pixels = tf.reshape(tf.io.decode_raw(values["p"], tf.uint8), (2, 2))
        return values["x"], tf.cast(pixels, tf.float32) / 255.0

    return parse_one


def chains(tf, folder):
    """Return chains of all kinds, by name; each call makes them anew."""
    dataset = tf.data.Dataset
    names = [record_file(tf, folder, f"{n}.tfrecord", 10 + 3 * n) for n in range(4)]
    numbers, work, scale = dataset.range(ROWS), heavy(tf), row(tf)
    return {
        "map": lambda: numbers.map(work).batch(7),
        "parallel map": lambda: numbers.map(work, num_parallel_calls=2).batch(7).prefetch(2),
        "rows": lambda: numbers.map(scale).batch(7),
        "rows, whole batches only": lambda: numbers.map(scale).batch(7, drop_remainder=True),
        "shuffle after map": lambda: numbers.map(scale).shuffle(20, seed=4).batch(7),
        "shuffle before maps": lambda: numbers.shuffle(20, seed=4).map(work).map(tf.sin).batch(7),
        "shuffled once": lambda: (
            numbers.map(scale).shuffle(20, seed=4, reshuffle_each_iteration=False).batch(7)
        ),
        "two shuffles": lambda: numbers.shuffle(9, seed=1).map(work).shuffle(20, seed=4).batch(7),
        "records": lambda: tf.data.TFRecordDataset(names).map(parse(tf)).batch(8),
        "interleave": lambda: (
            dataset.from_tensor_slices(names)
            .interleave(tf.data.TFRecordDataset, cycle_length=3, block_length=2)
            .map(parse(tf))
            .batch(8)
        ),
        "interleave of tuned cycle": lambda: numbers.interleave(
            lambda n: dataset.range(n % 5).map(lambda m: n * 10 + m)
        ),
        "flat map": lambda: numbers.flat_map(lambda n: dataset.range(n % 4)).batch(5),
        "zip": lambda: dataset.zip({"a": numbers.map(work), "b": numbers}).batch(4),
        "same twice": lambda: (lambda one: dataset.zip(one, one))(
            numbers.map(work).shuffle(9, seed=2)
        ),
        "concatenate": lambda: numbers.map(work).concatenate(numbers.take(5).map(work)).batch(9),
        "take, skip, shard": lambda: numbers.map(work).skip(3).take(40).shard(2, 1).batch(3),
        "filter": lambda: numbers.filter(lambda n: n % 3 > 0).map(scale).batch(4),
        "window": lambda: (
            numbers.window(4, shift=2, drop_remainder=True)
            .flat_map(lambda part: part.batch(4))
            .map(scale)
        ),
        "padded": lambda: numbers.map(lambda n: tf.ones([n % 5])).padded_batch(6),
        "ragged": lambda: numbers.map(lambda n: tf.ragged.range([n % 5, 2])).batch(1),
        "unbatch": lambda: numbers.batch(6).map(scale).unbatch().batch(5),
        "cached": lambda: numbers.cache().map(work).batch(5),
        "repeat": lambda: numbers.map(work).repeat(2).shuffle(16, seed=6).batch(5),
        "seeded random": lambda: (
            numbers.map(work).map(lambda x: x + tf.random.uniform((), seed=3)).batch(5)
        ),
        "random by element": lambda: numbers.map(
            lambda n: tf.random.stateless_uniform((3,), (n, n))
        ).batch(5),
        "Python": lambda: (
            numbers.map(work)
            .map(
                lambda x: tf.ensure_shape(
                    tf.numpy_function(lambda a: a + 1, [x], tf.float32), (8, 8)
                )
            )
            .batch(5)
        ),
        "generator": lambda: (
            dataset.from_generator(
                lambda: iter(range(9)), output_signature=tf.TensorSpec((), tf.int32)
            )
            .map(row(tf))
            .batch(4)
        ),
        "named": lambda: dataset.zip(numbers, numbers).map(lambda a, b: (a + b, b), name="sum"),
        "empty": lambda: numbers.take(0).map(work).batch(3),
    }


NAMES = list(
    {
        **dict.fromkeys(("map", "parallel map", "rows", "rows, whole batches only")),
        **dict.fromkeys(
            ("shuffle after map", "shuffle before maps", "shuffled once", "two shuffles", "records")
        ),
        **dict.fromkeys(("interleave", "interleave of tuned cycle", "flat map", "zip")),
        **dict.fromkeys(("same twice", "concatenate", "take, skip, shard", "filter", "window")),
        **dict.fromkeys(("padded", "ragged", "unbatch", "cached", "repeat", "seeded random")),
        **dict.fromkeys(("random by element", "Python", "generator", "named", "empty")),
    }
)


@pytest.mark.parametrize("name", NAMES)
def test_all_changes_together_keep_elements_and_order(tf, tmp_path, name):
    make = chains(tf, tmp_path)[name]
    same(tf, make(), data.accelerate(make(), measure=False), epochs=3)


@pytest.mark.parametrize("name", ["rows", "shuffle after map", "records", "interleave", "Python"])
def test_every_chain_that_is_tried_keeps_elements_and_order(tf, tmp_path, name):
    make = chains(tf, tmp_path)[name]
    work = pipeline._Accelerator(keep_order=True, room=10**9, is_measured=True)
    (part, *_) = pipeline._runnable_parts(read_stages(make()))
    choices = work._choices(part, trials.Sample(ROWS, is_whole=False))
    assert len(choices) > 1
    for choice in choices:
        first = Realizer(is_fresh=True).realize(part)
        same(tf, first, Realizer(is_fresh=True).realize(choice.top), epochs=3)


def test_a_seeded_random_map_draws_the_same_numbers_although_all_before_it_is_changed(tf):
    def make():
        rows = tf.data.Dataset.range(ROWS).map(heavy(tf)).batch(4)
        return rows.map(lambda x: x + tf.random.uniform((), seed=3))

    fast = data.accelerate(make(), measure=False)
    same(tf, make(), fast)
    assert "draws random numbers with a seed" in repr(fast)
    assert "cache" in repr(fast)


@pytest.fixture
def unseeded(tf):
    """Return TensorFlow without the global seed that another test may have set."""
    tf.random.set_seed(None)
    return tf


def test_what_each_function_does_is_read_from_its_graph(unseeded):
    tf = unseeded
    numbers = tf.data.Dataset.range(4)
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([1], tf.int64), tf.constant([2], tf.int64)),
        0,
    )
    variable = tf.Variable(1, dtype=tf.int64)

    @tf.function
    def inside(n):
        return tf.cond(n > 1, lambda: tf.random.uniform(()), lambda: 1.0)

    cases = {
        "": lambda n: n + 1,
        "draws random numbers": inside,
        "draws random numbers with a seed, in order": lambda n: tf.random.uniform((), seed=1),
        "looks up a table, which may change": table.lookup,
        "reads a variable": lambda n: n + variable,
        "runs Python code": lambda n: tf.numpy_function(int, [n], tf.int64, stateful=False),
        "keeps state (Timestamp)": lambda n: tf.timestamp(),
    }
    for reason, function in cases.items():
        stage = read_stages(numbers.map(function))
        assert stage.traits.reason == reason
        assert stage.traits.is_pure == (reason == "")
        is_free = reason in ("", "draws random numbers", "looks up a table, which may change")
        assert stage.traits.is_parallel == is_free


def test_shuffles_move_before_pure_maps_and_maps_handle_whole_batches(tf):
    chain = tf.data.Dataset.range(ROWS).map(row(tf)).shuffle(20, seed=1).batch(7)
    kinds = [one.kind for one in all_stages(read_stages(chain))]
    assert kinds == ["range", "map", "shuffle", "batch"]
    changed = rewrites.whole_batches(rewrites.shuffles_first(read_stages(chain)))
    assert [one.kind for one in all_stages(changed)] == ["range", "shuffle", "batch", "parallelmap"]


def test_examples_of_fixed_length_are_parsed_in_whole_batches(tf, tmp_path):
    records = tf.data.TFRecordDataset(record_file(tf, tmp_path))
    changed = rewrites.whole_batches(read_stages(records.map(parse(tf)).batch(7)))
    assert changed.note == "a whole batch in one call"
    same(tf, records.map(parse(tf)).batch(7), Realizer(is_fresh=True).realize(changed))
    fields = {"x": tf.io.VarLenFeature(tf.float32)}
    open_length = records.map(lambda one: tf.io.parse_single_example(one, fields)["x"].values)
    assert not any(
        one.change for one in all_stages(rewrites.whole_batches(read_stages(open_length.batch(7))))
    )


def test_a_map_whose_rounding_may_depend_on_its_neighbours_is_not_batched(tf):
    chain = tf.data.Dataset.range(ROWS).map(lambda n: tf.exp(tf.cast(n, tf.float32))).batch(7)
    assert not any(one.change for one in all_stages(rewrites.whole_batches(read_stages(chain))))


def test_the_cache_lies_behind_all_that_stays_the_same_and_replaces_those_before(tf):
    chain = tf.data.Dataset.range(ROWS).cache().map(heavy(tf)).shuffle(5).batch(7)
    top = read_stages(chain)
    (place,) = rewrites.pure_tops(top)
    assert place.kind == "map"
    kinds = [one.kind for one in all_stages(rewrites.caches_behind(top, [(place, "")]))]
    assert kinds == ["range", "map", "cache", "shuffle", "batch"]


def test_shuffles_before_maps_move_behind_them_to_leave_room_for_a_cache(tf):
    chain = tf.data.Dataset.range(ROWS).shuffle(9, seed=1).map(heavy(tf)).map(tf.sin).batch(7)
    fast = data.accelerate(chain, measure=False)
    names = [stage.name.split("(")[0] for stage in fast.acceleration.stages]
    assert names == ["range", "map", "map", "cache", "shuffle", "batch", "prefetch"]


def test_no_cache_without_room_or_known_size(tf):
    chain = tf.data.Dataset.range(ROWS).map(heavy(tf)).batch(7)
    assert "do not fit in 0 bytes" in repr(data.accelerate(chain, memory=0, measure=False))
    unknown = tf.data.Dataset.range(ROWS).filter(lambda n: n > 3).map(heavy(tf))
    assert "its size is not known" in repr(data.accelerate(unknown, measure=False))


def test_the_size_of_a_cache_is_that_of_all_elements(tf, tmp_path):
    whole = trials.Sample(ROWS * 9, is_whole=True)
    part = trials.Sample(10, is_whole=False)
    chain = read_stages(tf.data.Dataset.range(ROWS).map(lambda n: tf.ones([n % 2 + 4])).batch(1))
    exact = trials.cache_bytes(chain, whole)
    assert exact == sum((n % 2 + 4) * 4 + trials._TENSOR_BYTES for n in range(ROWS))
    assert trials.cache_bytes(chain, part) == pytest.approx(exact, rel=0.2)
    files = [record_file(tf, tmp_path, f"{n}.tfrecord") for n in range(3)]
    records = read_stages(tf.data.TFRecordDataset(files).map(parse(tf)))
    exact = trials.cache_bytes(records, whole)
    assert trials.cache_bytes(records, part) == pytest.approx(exact, rel=0.6)


def contender(name, walls, cpus=None):
    cpus = cpus or walls
    runs = [trials.PassRun(1, wall, cpu) for wall, cpu in zip(walls, cpus, strict=True)]
    return trials.Contender(name, None, None, runs)


def test_only_what_is_faster_beyond_chance_is_chosen():
    original = contender("original", [1.0] * 5)
    faster = contender("batched", [0.5] * 5)
    by_chance = contender("cache", [0.4, 0.4, 0.4, 0.4, 1.1])
    assert pipeline._choose([original, faster]) is faster
    assert pipeline._choose([original, by_chance]) is original
    assert pipeline._choose([original, contender("cache", [0.98] * 5)]) is original
    lighter = contender("cache", [0.9, 1.1, 0.8, 0.9, 0.7], [0.5] * 5)
    assert pipeline._choose([original, lighter]) is lighter
    slower = contender("cache", [1.3] * 5, [0.5] * 5)
    assert pipeline._choose([original, slower]) is original


def test_a_change_that_gains_nothing_by_itself_is_not_made_behind_a_cache():
    original = contender("original", [1.0] * 5)
    useless = contender("batched", [1.2] * 5)
    cache = contender("cache", [0.11] * 5)
    both = contender("batched + cache", [0.1] * 5)
    assert pipeline._choose([original, useless, cache, both]) is cache
    useful = contender("batched", [0.5] * 5)
    assert pipeline._choose([original, useful, cache, both]) is both


def test_the_trial_leaves_the_state_of_the_users_dataset_alone(tf):
    def make():
        return tf.data.Dataset.range(ROWS).map(row(tf)).shuffle(20, seed=4).batch(7)

    chain, twin = make(), make()
    next(iter(chain)), next(iter(twin))
    tf.random.set_seed(5)
    expected = tf.random.uniform(()).numpy()
    tf.random.set_seed(5)
    data.accelerate(chain)
    assert tf.random.uniform(()).numpy() == expected
    same(tf, chain, twin)
    same(tf, make(), data.accelerate(make()))


def test_accelerated_datasets_say_what_was_done_and_keep_attributes_and_options(tf):
    options = tf.data.Options()
    options.deterministic = True
    options.threading.private_threadpool_size = 3
    chain = tf.data.Dataset.range(ROWS).map(heavy(tf)).batch(7).with_options(options)
    chain.class_names = ["a"]
    fast = data.accelerate(chain, measure=False)
    assert fast.class_names == ["a"]
    assert fast.options().threading.private_threadpool_size == 3
    assert fast.options().deterministic is True
    assert "not measured" in repr(fast)
    assert "in memory" in repr(fast)
    assert [stage.name for stage in fast.acceleration.stages][-1] == "prefetch()"
    assert "accelerate" not in repr(chain)


def test_what_cannot_be_rebuilt_comes_back_as_it_is(tf):
    chain = tf.data.Dataset.from_generator(
        lambda: iter(range(9)), output_signature=tf.TensorSpec((), tf.int32)
    ).batch(4)
    fast = data.accelerate(chain)
    assert "left as it is" in repr(fast)
    assert "runs Python code" in repr(fast)
    assert "accelerate" not in repr(chain)
    again = data.accelerate(fast)
    same(tf, chain, again)


def test_a_chain_that_fails_is_left_for_the_user_to_see(tf):
    chain = tf.data.Dataset.range(4).map(lambda n: tf.io.read_file("there is no such file"))
    assert "since it fails" in repr(data.accelerate(chain))


def test_options_let_maps_be_called_in_any_order(tf):
    chain = tf.data.Dataset.range(ROWS).map(heavy(tf))
    fast = data.accelerate(chain, keep_order=False, measure=False)
    assert "the order of the elements may change" in repr(fast)
    assert sorted(flat(tf, fast, 1)[:-1]) == sorted(flat(tf, chain, 1)[:-1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dataset": [1, 2]}, r"no tf.data.Dataset \(received: list\)"),
        ({"keep_order": "yes"}, r"accelerate\(keep_order='yes'\): it must be True or False"),
        ({"memory": -1}, r"accelerate\(memory=-1\): it must be a whole number"),
        ({"measure": 3}, r"accelerate\(measure=3\)"),
    ],
)
def test_options_that_make_no_sense_are_refused(tf, given, message):
    with pytest.raises(UsageError, match=message):
        data.accelerate(**{"dataset": tf.data.Dataset.range(3), **given})


def test_fit_takes_an_accelerated_dataset(tf):
    import keras

    rows = np.arange(64, dtype=np.float32).reshape(32, 2)
    chain = tf.data.Dataset.from_tensor_slices((rows, rows[:, 0])).shuffle(8, seed=1).batch(8)
    losses = []
    for dataset in (chain, data.accelerate(chain, measure=False)):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mae")
        losses.append(model.fit(dataset, epochs=2, verbose=0, shuffle=False).history["loss"])
    assert len(losses[0]) == len(losses[1]) == 2


def test_a_shuffle_stays_where_it_is_in_a_chain_that_repeats(tf):
    def chain():
        numbers = tf.data.Dataset.range(12).shuffle(5, seed=3)
        return numbers.map(lambda n: n * 2).repeat(3)

    faster = data.accelerate(chain(), measure=False)
    plain = chain()
    for _ in range(2):
        assert [int(n) for n in faster] == [int(n) for n in plain]


def test_floats_that_do_not_fit_small_integers_are_cast_one_by_one(tf):
    floats = tf.constant([5.0] * 62 + [300.0, -1.0])
    chain = tf.data.Dataset.from_tensor_slices(floats).map(lambda x: tf.cast(x, tf.uint8))
    assert not rewrites.handles_rows(read_stages(chain))
    whole = tf.data.Dataset.from_tensor_slices(floats).map(lambda x: tf.cast(x, tf.int32))
    assert rewrites.handles_rows(read_stages(whole))


def test_an_element_that_fails_does_so_in_every_epoch(tf):
    def fail(n):
        with tf.control_dependencies([tf.debugging.Assert(n != 7, ["bad"])]):
            return n + 1

    top = read_stages(tf.data.Dataset.range(12).map(fail))
    cached = Realizer(is_fresh=False).realize(rewrites.caches_behind(top, [(top, "cached")]))
    for _ in range(3):
        failed = cached.prefetch(2)
        with pytest.raises(tf.errors.OpError):
            list(failed)


def test_the_end_of_a_generator_is_seen_at_once(tf):
    closed = []

    def numbers():
        try:
            yield from range(100)
        finally:
            closed.append(True)

    chain = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int64))
    for _ in data.accelerate(chain, measure=False):
        break
    gc.collect()
    assert closed == [True]
