"""Loops that a script writes itself are found from the calls its lines make.

The loops of this file stand for those of scripts; what they call only lets time go by.
"""

import contextlib
import itertools
import threading

import pytest

from probes.stand_ins import Library
from quickfit.probes import _thread_calls, calls, hand_loop, session
from quickfit.probes.callbacks import ALL_WATCHED

from launch.sessions import PATIENCE_S


@pytest.fixture
def tf(state, monkeypatch):
    """Return the libraries that the loops of this file call."""
    yield Library(state, monkeypatch)
    _thread_calls.threads.clear()


def line_of(function, offset):
    return function.__code__.co_firstlineno + offset


def only_loop(tf):
    tf.finish()
    (loop,) = tf.loops()
    return loop


def parts(step):
    """Return the parts of a step in hundredths of a second."""
    return {
        name: round(100 * step[name]) for name in ("wait_s", "call_s") if step[name] is not None
    }


def length(step):
    return round(step["end_s"] - step["begin_s"], 3)


# -- loops over a dataset -------------------------------------------------------------------------


def test_a_for_over_a_dataset_is_a_loop_and_each_batch_a_step(tf):
    def script():
        step = tf.compiled(optimizer=tf.BaseOptimizer())
        for batch in tf.data(6, wait_s=0.05):
            step(batch)

    script()
    loop = only_loop(tf)
    assert (loop["file"], loop["line"]) == (__file__, line_of(script, 2))
    assert loop["kind"] == "custom"
    assert loop["begin_s"] <= loop["first_step_s"] <= loop["end_s"]
    steps = tf.steps()
    assert [step["step"] for step in steps] == [1, 2, 3, 4, 5, 6]
    assert {step["epoch"] for step in steps} == {1}
    assert all(parts(step) == {"wait_s": 5, "call_s": 10} for step in steps)


def test_the_question_after_the_last_batch_is_no_step(tf):
    def script():
        for batch in tf.data(4, wait_s=0.05):
            tf.compiled()(batch)

    script()
    tf.finish()
    assert len(tf.steps()) == 4


def test_the_time_of_a_step_is_all_the_time_until_the_next(tf):
    def script():
        step = tf.compiled()
        for batch in tf.data(5):
            step(batch)
            tf.takes(0.4)  # Python of the script's own

    script()
    tf.finish()
    assert [length(step) for step in tf.steps()] == [0.5] * 5


def test_the_last_step_before_a_loop_was_left_ends_with_its_last_call(tf):
    """What the script did after it may belong to the step or not."""

    def script():
        iterator, step = iter(tf.data(50)), tf.compiled()
        for _ in range(5):
            step(next(iterator))
            tf.takes(0.4)

    script()
    tf.finish()
    assert [length(step) for step in tf.steps()] == [0.5] * 4 + [0.1]


def test_each_pass_over_the_data_is_an_epoch(tf):
    def script():
        step, ds = tf.compiled(), tf.data(5)
        for _ in range(3):
            for batch in ds:
                step(batch)
            tf.takes(2.0)

    script()
    loop = only_loop(tf)
    assert loop["line"] == line_of(script, 3)
    assert [step["epoch"] for step in tf.steps()] == [1] * 5 + [2] * 5 + [3] * 5
    assert max(map(length, tf.steps())) == 0.1, "the time between epochs is in no step"


def test_an_iterator_that_is_asked_in_a_while_is_a_loop(tf):
    def script():
        iterator, step, left = iter(tf.data(100)), tf.compiled(), 5
        while left:
            step(next(iterator))
            left -= 1

    script()
    loop = only_loop(tf)
    assert loop["line"] in (line_of(script, 2), line_of(script, 3))
    assert len(tf.steps()) == 5
    assert '"head": "next"' in loop["facts"]


def test_an_endless_while_that_is_left_by_the_end_of_the_data_is_a_loop(tf):
    def script():
        iterator, step = iter(tf.data(5)), tf.compiled()
        while True:
            try:
                batch = next(iterator)
            except StopIteration:
                break
            step(batch)

    script()
    assert only_loop(tf)["kind"] == "custom"
    assert len(tf.steps()) == 5


def test_a_while_that_passes_over_some_batches_is_one_loop(tf):
    def script():
        iterator, step, asked = iter(tf.data(100)), tf.compiled(), 0
        while True:
            batch = next(iterator)
            asked += 1
            if asked % 3 == 0:
                continue
            step(batch)
            if asked > 10:
                break

    script()
    only_loop(tf)
    assert len(tf.steps()) == 11


@pytest.mark.parametrize("name", ["get_next", "__next__"])
def test_a_distributed_iterator_and_the_older_name_are_seen(tf, name):
    def script():
        iterator, step = tf.DistributedIteratorBase(100, 0.05), tf.compiled()
        for _ in range(5):
            step(next(iterator) if name == "__next__" else iterator.get_next())

    script()
    only_loop(tf)
    assert [parts(step) for step in tf.steps()] == [{"wait_s": 5, "call_s": 10}] * 5


def test_a_generator_of_the_script_around_the_data_belongs_to_the_loop_that_uses_it(tf):
    def augmented(ds):
        for batch in ds:
            tf.takes(0.02)
            yield batch

    def script():
        step = tf.compiled()
        for batch in augmented(tf.data(5, wait_s=0.05)):
            step(batch)

    script()
    assert only_loop(tf)["line"] == line_of(script, 2)
    assert [parts(step) for step in tf.steps()] == [{"wait_s": 5, "call_s": 10}] * 5


def test_a_progress_bar_around_the_data_is_passed_over(tf):
    names = {}
    text = "def tqdm(items):\n    for item in items:\n        yield item\n"
    exec(compile(text, "/env/site-packages/tqdm/std.py", "exec"), names)

    def script():
        step = tf.compiled()
        for batch in names["tqdm"](tf.data(5, wait_s=0.05)):
            step(batch)

    script()
    assert only_loop(tf)["line"] == line_of(script, 2)
    assert len(tf.steps()) == 5


def test_two_functions_in_one_step_are_one_loop(tf):
    """As in a GAN."""

    def script():
        one = tf.compiled("d_step", optimizer=tf.BaseOptimizer())
        two = tf.compiled("g_step", optimizer=tf.BaseOptimizer())
        for batch in tf.data(5):
            one(batch)
            two(batch)

    script()
    only_loop(tf)
    assert [parts(step)["call_s"] for step in tf.steps()] == [20] * 5


def test_a_step_in_a_function_or_a_class_is_the_step_of_the_loop_that_calls_it(tf):
    class Trainer:
        def __init__(self):
            self.function = tf.compiled()

        def step(self, batch):
            return self.inner(batch)

        def inner(self, batch):
            return self.function(batch)

    def script():
        trainer = Trainer()
        for batch in tf.data(5):
            trainer.step(batch)

    script()
    assert only_loop(tf)["line"] == line_of(script, 2)
    assert len(tf.steps()) == 5


def test_an_inner_loop_over_one_batch_belongs_to_the_step_of_the_batch(tf):
    """Several updates of the discriminator per batch."""

    def script():
        step = tf.compiled()
        for batch in tf.data(30):
            for _ in range(3):
                step(batch)

    script()
    tf.finish()
    over_data = [loop for loop in tf.loops() if '"head": "next"' in loop["facts"]]
    assert len(over_data) == 1
    steps = tf.steps(over_data[0]["id"])
    assert len(steps) >= 27, "all but the first few, when the inner loop seemed to be the one"
    assert {parts(step)["call_s"] for step in steps} == {30}


# -- loops without a dataset ----------------------------------------------------------------------


def test_a_loop_over_arrays_has_the_function_as_its_head(tf):
    def script():
        step = tf.compiled(optimizer=tf.BaseOptimizer())
        for batch in range(5):
            step(batch)

    script()
    loop = only_loop(tf)
    assert loop["line"] == line_of(script, 2)
    assert '"input": "python"' in loop["facts"]
    assert [parts(step) for step in tf.steps()] == [{"call_s": 10}] * 5
    assert {step["wait_s"] for step in tf.steps()} == {None}, "nobody asked for a batch"


def test_train_on_batch_in_a_loop_is_told_as_such_with_its_logs(tf):
    def script():
        model = tf.Model()
        for batch in range(5):
            model.train_on_batch(batch)

    script()
    loop = only_loop(tf)
    assert (loop["kind"], loop["line"]) == ("train_on_batch", line_of(script, 3))
    assert '"trains": true' in loop["facts"]
    assert [round(step["logs_s"], 3) for step in tf.steps()] == [0.01] * 5
    assert [parts(step)["call_s"] for step in tf.steps()] == [11] * 5


@pytest.mark.parametrize(
    ("method", "kind"),
    [("predict", "predict"), ("predict_on_batch", "predict"), ("evaluate", "evaluate")],
)
def test_a_loop_that_only_looks_at_the_model_does_not_train(tf, method, kind):
    def script():
        model = tf.Model()
        for batch in range(5):
            getattr(model, method)(batch)

    script()
    loop = only_loop(tf)
    assert loop["kind"] == kind
    assert '"trains": false' in loop["facts"]


def test_an_eager_loop_with_a_tape_has_its_work_timed(tf):
    def script():
        optimizer = tf.BaseOptimizer()
        for batch in tf.data(6, wait_s=0.05):
            with tf.GradientTape() as tape:
                tf.takes(0.3)  # the forward pass
            optimizer.apply_gradients(tape.gradient(batch, []))

    script()
    loop = only_loop(tf)
    assert '"trains": true' in loop["facts"]
    assert '"eager_loop": true' in loop["facts"]
    assert [parts(step) for step in tf.steps()] == [{"wait_s": 5, "call_s": 33}] * 6


def test_a_prediction_that_begins_an_eager_step_is_timed_beside_its_tape(tf):
    def script():
        model, optimizer = tf.Model(), tf.BaseOptimizer()
        for batch in range(6):
            model.predict(batch)
            with tf.GradientTape() as tape:
                tf.takes(0.3)  # the forward pass
            optimizer.apply_gradients(tape.gradient(batch, []))

    script()
    assert '"head": "predict"' in only_loop(tf)["facts"]
    predict_s = tf.called("predict")[1] / tf.called("predict")[0]
    # The first call came before the loop was known to be one.
    first, *others = [parts(step)["call_s"] for step in tf.steps()]
    assert first == 33
    assert others == [round(100 * predict_s) + 33] * 5


def test_an_eager_loop_with_tapes_is_watched_beyond_the_steps_that_are_watched_in_full(tf, state):
    def script():
        optimizer = tf.BaseOptimizer()
        for number in range(3 * ALL_WATCHED):
            with tf.GradientTape() as tape:
                tf.takes(0.01)
            optimizer.apply_gradients(tape.gradient(number, []))

    script()
    loop = only_loop(tf)
    assert not state.probes["calls"].is_off, state.probes["calls"].detail
    assert len(tf.steps(loop["id"])) == 3 * ALL_WATCHED


def test_an_eager_loop_over_arrays_begins_its_steps_with_the_tape(tf):
    def train_step(optimizer, batch):
        with tf.GradientTape() as tape:
            tf.takes(0.3)
        gradients = tape.gradient(batch, [])
        optimizer.apply_gradients(gradients)

    def script():
        optimizer = tf.BaseOptimizer()
        for batch in range(6):
            train_step(optimizer, batch)

    script()
    loop = only_loop(tf)
    assert loop["line"] == line_of(script, 2)
    assert [parts(step)["call_s"] for step in tf.steps()] == [33] * 6


def test_a_function_that_is_compiled_and_trains_is_known_to(tf):
    def script():
        step = tf.compiled(optimizer=tf.BaseOptimizer())
        for batch in range(3):
            step(batch)

    script()
    assert '"trains": true' in only_loop(tf)["facts"]


def test_a_function_that_only_evaluates_is_known_to(tf):
    def script():
        step = tf.compiled("test_step")
        for batch in tf.data(3):
            step(batch)

    script()
    assert '"trains": false' in only_loop(tf)["facts"]


def test_a_function_that_takes_many_steps_per_call_is_a_loop_in_a_graph(tf):
    def script():
        epoch = tf.compiled("train_epoch", optimizer=tf.BaseOptimizer(), inner=50)
        for _ in range(4):
            epoch()

    script()
    loop = only_loop(tf)
    assert loop["kind"] == "graph"
    assert '"steps_per_execution": 50' in loop["facts"]
    assert '"input": "graph"' in loop["facts"]


# -- what is no loop ------------------------------------------------------------------------------


def test_one_call_is_no_loop(tf):
    def script():
        tf.compiled()(1)
        tf.Model().predict(1)
        next(iter(tf.data(5)))

    script()
    tf.finish()
    assert tf.loops() == []
    assert tf.steps() == []
    assert tf.called("predict", loop=0)[0] == 1


def test_two_lines_that_call_once_each_are_no_loop(tf):
    def script():
        step = tf.compiled()
        step(1)
        step(2)
        step(3)

    script()
    tf.finish()
    assert tf.loops() == []


def test_a_line_outside_any_loop_must_be_seen_often(tf):
    """A library's loop calls a function of the script."""
    names = {}
    text = "def repeat(function, times):\n    for _ in range(times): function()\n"
    exec(compile(text, "/env/site-packages/runner.py", "exec"), names)

    def script(times):
        step = tf.compiled()
        thread = threading.Thread(target=names["repeat"], args=[lambda: step(1), times])
        thread.start()
        thread.join()

    script(hand_loop.WITHOUT_BODY)
    assert tf.loops() == []
    script(hand_loop.WITHOUT_BODY + 3)
    tf.finish()
    assert len(tf.loops()) == 1


def test_what_keras_calls_itself_is_no_loop(tf):
    names = {}
    text = "def fit(step, ds):\n    for batch in ds: step(batch)\n"
    exec(compile(text, "/env/site-packages/keras/src/trainer.py", "exec"), names)
    names["fit"](tf.compiled(), tf.data(20))
    tf.finish()
    assert tf.loops() == []


def test_while_a_graph_is_built_nothing_is_a_loop(tf):
    tf.is_tracing = True
    for batch in tf.data(5):
        tf.compiled()(batch)
    tf.is_tracing = False
    tf.finish()
    assert tf.loops() == []


# -- several loops --------------------------------------------------------------------------------


def test_a_loop_over_validation_data_after_each_epoch_is_a_loop_of_its_own(tf):
    def script():
        step, look = tf.compiled(optimizer=tf.BaseOptimizer()), tf.compiled("test_step")
        for _ in range(3):
            for batch in tf.data(5):
                step(batch)
            for batch in tf.data(4):
                look(batch)

    script()
    tf.finish()
    train, test = tf.loops()
    assert (train["line"], test["line"]) == (line_of(script, 3), line_of(script, 5))
    assert '"trains": true' in train["facts"]
    assert '"trains": false' in test["facts"]
    assert [step["epoch"] for step in tf.steps(train["id"])] == [1] * 5 + [2] * 5 + [3] * 5
    assert [step["epoch"] for step in tf.steps(test["id"])] == [1] * 4 + [2] * 4 + [3] * 4


def test_a_save_and_an_evaluation_between_epochs_are_counted_in_the_loop(tf):
    def script():
        model, ds = tf.Model(), tf.data(5)
        for _ in range(3):
            for batch in ds:
                model.train_on_batch(batch)
            model.save("model.keras")
            model.evaluate(ds)

    script()
    tf.finish()
    (loop,) = (loop for loop in tf.loops() if loop["kind"] == "train_on_batch")
    assert tf.called("save", loop["id"]) == (3, pytest.approx(1.5, abs=1e-3))
    assert tf.called("evaluate", loop["id"]) == (3, pytest.approx(0.09, abs=1e-3))
    assert len(tf.steps(loop["id"])) == 15


def test_a_save_inside_a_step_is_counted_in_the_loop_and_in_the_step(tf):
    def script():
        step, model = tf.compiled(), tf.Model()
        for number, batch in enumerate(tf.data(6)):
            step(batch)
            if number == 3:
                model.save_weights("model.weights.h5")

    script()
    loop = only_loop(tf)
    assert tf.called("save", loop["id"])[0] == 1
    assert [length(step) for step in tf.steps()] == [0.1, 0.1, 0.1, 0.4, 0.1, 0.1]


def test_a_second_loop_over_the_same_function_is_another_loop(tf):
    def script():
        step = tf.compiled()
        for batch in tf.data(5):
            step(batch)
        for batch in tf.data(5):
            step(batch)

    script()
    tf.finish()
    assert [loop["line"] for loop in tf.loops()] == [line_of(script, 2), line_of(script, 4)]


def test_a_function_that_trains_and_is_called_again_goes_on_with_its_loop(tf):
    def train(step):
        for batch in tf.data(5):
            step(batch)

    def script():
        step = tf.compiled()
        for _ in range(3):
            train(step)

    script()
    only_loop(tf)
    assert [step["epoch"] for step in tf.steps()] == [1] * 5 + [2] * 5 + [3] * 5


def test_loops_of_two_threads_do_not_meet(tf):
    both = threading.Barrier(2)

    def script():
        step = tf.compiled()
        both.wait(PATIENCE_S)
        for batch in tf.data(5):
            step(batch)
        both.wait(PATIENCE_S)

    threads = [threading.Thread(target=script) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tf.finish()
    one, two = tf.loops()
    assert one["thread"] != two["thread"]
    assert len(tf.steps(one["id"])) == len(tf.steps(two["id"])) == 5


def test_a_fit_inside_a_loop_of_the_script_ends_its_step(tf):
    def script():
        step = tf.compiled()
        for batch in tf.data(4):
            step(batch)
        calls.enter_fit(threading.get_ident(), 1)
        for batch in tf.data(50):
            step(batch)
        calls.enter_fit(threading.get_ident(), -1)

    script()
    tf.finish()
    assert len(tf.steps()) == 4


# -- long loops -----------------------------------------------------------------------------------


def long_loop(tf, batches=400, epochs=1):
    step = tf.compiled(optimizer=tf.BaseOptimizer())
    for _ in range(epochs):
        for batch in tf.data(batches, wait_s=0.05):
            step(batch)


def test_of_a_long_loop_every_step_has_a_row_and_only_some_have_all_parts(tf):
    long_loop(tf)
    only_loop(tf)
    steps = tf.steps()
    assert [step["step"] for step in steps] == list(range(1, 401))
    assert all(parts(step) == {"wait_s": 5, "call_s": 10} for step in steps[:ALL_WATCHED])
    watched = [step for step in steps[ALL_WATCHED:] if step["call_s"] is not None]
    assert 8 <= len(watched) <= 60, "few, but enough"
    assert all(parts(step) == {"wait_s": 5, "call_s": 10} for step in watched)
    assert set(map(length, steps)) == {0.15}


def test_epochs_of_a_long_loop_have_their_steps_whether_watched_or_not(tf):
    long_loop(tf, batches=37, epochs=11)
    only_loop(tf)
    counts = [0] * 12
    for step in tf.steps():
        counts[step["epoch"]] += 1
    assert counts == [0] + [37] * 11


@pytest.mark.parametrize("quick_s", [0.0, 0.01, 0.099])
def test_a_last_step_that_was_quicker_than_usual_does_not_reach_into_the_next_epoch(tf, quick_s):
    def script():
        step = tf.compiled()
        for _ in range(60):
            iterator = iter(tf.data(1000))
            for number in range(7):
                batch = next(iterator)
                step.takes_s = quick_s if number == 6 else 0.1
                step(batch)

    script()
    only_loop(tf)
    assert len(tf.steps()) >= 60 * 6


def test_saves_are_counted_in_steps_that_are_not_watched(tf):
    def script():
        step, model = tf.compiled(), tf.Model()
        for number, batch in enumerate(tf.data(400)):
            step(batch)
            if number % 10 == 0:
                model.save("model.keras")

    script()
    only_loop(tf)
    assert tf.called("save") == (40, pytest.approx(20.0, abs=0.01))


@pytest.mark.parametrize("method", ["predict", "test_on_batch", "predict_on_batch"])
def test_looks_at_the_model_are_counted_in_steps_that_are_not_watched(tf, method):
    def script():
        step, model = tf.compiled(), tf.Model()
        for batch in tf.data(400):
            step(batch)
            getattr(model, method)(batch)

    script()
    tf.finish()
    kind = method.partition("_")[0]
    assert tf.called(kind)[0] == 400


def test_a_loop_that_was_left_in_steps_that_are_not_watched_is_left(tf):
    def script():
        step, look = tf.compiled(), tf.compiled("look")
        for _ in range(4):
            for batch in tf.data(130):
                step(batch)
            for batch in tf.data(130):
                look(batch)

    script()
    tf.finish()
    train, test = tf.loops()
    for loop in (train, test):
        assert [step["step"] for step in tf.steps(loop["id"])] == list(range(1, 521))
        assert {step["epoch"] for step in tf.steps(loop["id"])} == {1, 2, 3, 4}


def test_a_loop_over_arrays_that_is_not_watched_has_every_step(tf):
    def script():
        step = tf.compiled()
        for batch in range(400):
            step(batch)

    script()
    only_loop(tf)
    assert [step["step"] for step in tf.steps()] == list(range(1, 401))


def test_memory_does_not_grow_with_the_steps(tf):
    long_loop(tf, batches=300, epochs=3)
    (thread,) = _thread_calls.threads.values()
    assert len(thread.sites) < 20
    assert len(thread.loop.head_at) < 20
    assert len(thread.loop.inside_at) < 20


# -- errors and ends ------------------------------------------------------------------------------


def test_a_step_that_raises_is_the_scripts_own_error(tf):
    def fails():
        raise ValueError("mine")

    def script():
        step = tf.compiled()
        for batch in tf.data(10):
            step(batch)
            if batch == 5:
                fails()

    with pytest.raises(ValueError, match="mine"):
        script()
    only_loop(tf)
    assert len(tf.steps()) == 5


def test_a_call_that_raises_and_is_tried_again_stays_in_its_step(tf):
    def script():
        step, tries = tf.compiled(), 0
        for batch in tf.data(6):
            with contextlib.suppress(ValueError):
                tries += 1
                step.takes_s = None if tries == 3 else 0.1
                try:
                    step(batch)
                except TypeError:
                    raise ValueError from None

    script()
    only_loop(tf)
    assert len(tf.steps()) == 6


def test_a_loop_that_goes_on_has_no_end(tf):
    iterator, step = iter(tf.data(50)), tf.compiled()
    for _ in range(5):
        step(next(iterator))
    (loop,) = tf.loops()
    assert loop["end_s"] is None
    tf.finish()
    assert tf.loops()[0]["end_s"] is not None


def test_the_cpu_of_the_thread_is_told_now_and_then(tf):
    long_loop(tf, batches=40)
    told = [step["step"] for step in tf.steps() if step["cpu_s"] is not None]
    assert told == [8, 16, 24, 32, 40][: len(told)]
    assert len(told) >= 4


def test_a_run_is_stopped_after_the_steps_that_were_asked_for(tf, state, monkeypatch):
    class Stopped(BaseException):
        pass

    def stop():
        raise Stopped

    monkeypatch.setattr("quickfit.probes.session.stop_now", stop)
    state.stop_steps = 12
    with pytest.raises(Stopped):
        long_loop(tf)
    assert len(tf.steps()) == 12


@pytest.mark.parametrize("limit", ["steps", "seconds"])
def test_the_step_that_ends_a_run_is_written_once(tf, state, monkeypatch, limit):
    class Stopped(BaseException):
        pass

    def leave():
        raise Stopped

    monkeypatch.setattr("quickfit.probes.stopping.leave", leave)
    monkeypatch.setattr("quickfit.probes.session._stop_background", lambda: None)
    if limit == "steps":
        state.stop_steps = 12
    else:
        monkeypatch.setattr("quickfit.probes.stopping.now", tf.clock)
        state.stop_at_s = tf.clock.now_s + 2.5
    with pytest.raises(Stopped):
        long_loop(tf)
    steps = tf.steps()
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    assert steps[-1]["step"] >= 12
    assert all(a["end_s"] <= b["begin_s"] for a, b in itertools.pairwise(steps))
    assert all(step["begin_s"] < step["end_s"] for step in steps)


@pytest.mark.parametrize("batches", [20, 3 * ALL_WATCHED])
def test_an_interrupt_while_a_step_is_written_does_not_write_it_twice(tf, state, batches):
    """A Ctrl-C raises on whichever line of ours runs: here, right after the step was written."""
    add_step = state.writer.add_step
    written = []

    def add_and_interrupt(row):
        add_step(row)
        written.append(row)
        if len(written) == batches:
            raise KeyboardInterrupt

    state.writer.add_step = add_and_interrupt
    with pytest.raises(KeyboardInterrupt):
        long_loop(tf, batches=2 * batches)
    tf.finish()
    steps = tf.steps()
    assert len(steps) == batches
    assert all(a["end_s"] <= b["begin_s"] for a, b in itertools.pairwise(steps))


def test_a_run_that_ends_is_not_ended_once_more_by_its_last_step(tf, state, monkeypatch):
    monkeypatch.setattr("quickfit.probes.session.stop_now", lambda: pytest.fail("ended twice"))
    monkeypatch.setattr("quickfit.probes.session._stop_background", lambda: None)
    asked = []
    state.at_step = lambda: asked.append(len(asked)) or False
    iterator, step = iter(tf.data(50)), tf.compiled()
    for _ in range(5):
        step(next(iterator))
    before = len(asked)
    state.stop_steps = 1
    session.finish()
    assert before
    assert len(asked) == before
    assert tf.loops()[0]["end_s"] is not None


def test_a_loop_that_only_looks_does_not_count_towards_the_steps_to_stop_after(tf, state):
    state.stop_steps = 3
    for batch in tf.data(10):
        tf.compiled("test_step")(batch)
    assert state.steps == 0


def test_nothing_is_watched_in_a_process_whose_probe_is_off(tf, state):
    state.probes["calls"].turn_off("failed", "for a test")
    for batch in tf.data(10):
        tf.compiled()(batch)
    assert tf.loops() == []


def test_the_state_of_another_process_takes_no_step_of_this_one(tf, monkeypatch):
    for batch in tf.data(5):
        tf.compiled()(batch)
    seen = len(tf.steps())
    monkeypatch.setattr(hand_loop.Current, "state", None)
    for batch in tf.data(5):
        tf.compiled()(batch)
    assert len(tf.steps()) <= seen + 1
