"""The line of the script behind a call is found, whoever stands between, and counts its calls."""

import gc
import sys
import threading
from types import SimpleNamespace

import pytest

from quickfit.probes._places import Place
from quickfit.probes._sites import (
    Moment,
    Site,
    any_user_frame,
    consumer,
    enclosing_body,
    is_eager,
    name_of,
    position,
    user_frame,
)

TQDM = "/env/lib/python3.11/site-packages/tqdm/std.py"
KERAS = "/env/lib/python3.11/site-packages/keras/src/trainers/trainer.py"
CALLS = "def calls(function, *args):\n    return function(*args)\n"
ITERATES = "def iterates(items):\n    for item in items:\n        yield item\n"


def of_library(text, file):
    """Return the function of a text as if it were written in an installed package."""
    names = {}
    exec(compile(text, file, "exec"), names)
    return names[text.split("(")[0].removeprefix("def ")]


# -- frames ---------------------------------------------------------------------------------------


def test_the_frame_of_the_script_is_itself():
    frame = sys._getframe(0)
    assert user_frame(frame) is frame
    assert any_user_frame(frame) is frame


def test_a_library_may_stand_between_the_script_and_the_call():
    found = of_library(CALLS, TQDM)(lambda: user_frame(sys._getframe(1)))
    assert found is sys._getframe(0)


def test_a_call_that_keras_makes_itself_is_not_the_scripts():
    through = of_library(CALLS, KERAS)
    assert through(lambda: user_frame(sys._getframe(1))) is None
    assert through(lambda: any_user_frame(sys._getframe(1))) is sys._getframe(0)


def test_a_call_that_a_library_makes_for_keras_is_not_the_scripts():
    keras, library = of_library(CALLS, KERAS), of_library(CALLS, TQDM)
    assert keras(library, lambda: user_frame(sys._getframe(1))) is None


def test_a_callback_of_the_script_that_keras_calls_is_the_scripts():
    found = of_library(CALLS, KERAS)(lambda: user_frame(sys._getframe(0)))
    assert found.f_code.co_name == "<lambda>"


def test_a_thread_without_a_frame_of_the_script_has_none():
    found = []
    library = of_library("def asks(answer):\n    answer()\n", TQDM)
    answer = of_library(
        "def answer():\n    import sys\n    found.append(user(sys._getframe(0)))\n", TQDM
    )
    answer.__globals__.update(found=found, user=user_frame)
    thread = threading.Thread(target=library, args=[answer])
    thread.start()
    thread.join()
    assert found == [None]


def test_no_frame_is_nobodys():
    assert user_frame(None) is None
    assert any_user_frame(None) is None
    assert enclosing_body(None) is None


def test_a_generator_makes_its_items_for_the_function_that_iterates_it():
    def batches():
        while True:
            yield consumer(sys._getframe(0)).f_code.co_name

    def script():
        return next(batches())

    assert script() == "script"


def test_generators_in_a_row_make_their_items_for_the_function_at_the_end():
    def inner():
        yield consumer(sys._getframe(0)).f_code.co_name

    def outer():
        yield from inner()

    def third():
        for item in outer():
            name = item
            yield name

    def script():
        return list(third())

    assert script() == ["script"]


def test_a_progress_bar_between_a_generator_and_its_consumer_is_passed_over():
    def batches():
        yield consumer(sys._getframe(0)).f_code.co_name

    def script():
        return list(of_library(ITERATES, TQDM)(batches()))

    assert script() == ["script"]


def test_a_generator_on_a_thread_of_a_librarys_is_its_own_consumer():
    found = []

    def batches():
        yield consumer(sys._getframe(0)).f_code.co_name

    runs = of_library("def runs(found, items):\n    for item in items: found.append(item)\n", TQDM)
    thread = threading.Thread(target=runs, args=[found, batches()])
    thread.start()
    thread.join()
    assert found == ["batches"]


def test_a_function_that_is_no_generator_is_its_own_consumer():
    frame = sys._getframe(0)
    assert consumer(frame) is frame


# -- places ---------------------------------------------------------------------------------------


def test_two_calls_on_one_line_have_positions_of_their_own():
    def here():
        return position(sys._getframe(1))

    one, two = here(), here()
    assert one != two
    assert one[0] == two[0], "the same line"


def test_the_same_call_has_the_same_position_however_often_it_runs():
    def here():
        frame = sys._getframe(1)
        return position(frame)

    assert len({here() for _ in range(300)}) == 1


def test_code_without_columns_is_told_apart_by_its_line():
    names = {"position": position, "sys": sys}
    code = compile("found = position(sys._getframe(0))", "script.py", "exec")
    exec(code.replace(co_linetable=b""), names)
    assert len(names["found"]) == 1


def test_the_loop_of_the_script_around_a_helper_is_found():
    def helper():
        return enclosing_body(sys._getframe(0))

    def script():
        outside = helper()
        for _ in range(1):
            inside = of_library(CALLS, TQDM)(helper)
        return outside, inside

    outside, inside = script()
    assert inside.code is script.__code__
    assert outside is None or outside.code is not script.__code__


def test_a_loop_of_a_library_is_not_the_scripts():
    def script():
        loops = of_library(
            "def loops(function):\n    for _ in range(1):\n        return function()\n", TQDM
        )
        return loops(lambda: enclosing_body(sys._getframe(0)))

    body = script()
    assert body is None or body.code.co_filename != TQDM


# -- what is called -------------------------------------------------------------------------------


def test_without_tensorflow_everything_is_eager(monkeypatch):
    monkeypatch.delitem(sys.modules, "tensorflow.python.eager.context", raising=False)
    assert is_eager()


@pytest.mark.parametrize("answer", [True, False])
def test_tensorflow_is_asked_whether_a_graph_is_being_built(monkeypatch, answer):
    context = SimpleNamespace(executing_eagerly=lambda: answer)
    monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", context)
    assert is_eager() is answer


def test_a_function_is_called_by_its_name_and_an_object_by_its_class():
    assert name_of(name_of) == "name_of"
    assert name_of(Place("a.py", 1, "f")) == "Place"
    assert len(name_of(SimpleNamespace(__name__="x" * 500))) == 80


# -- sites ----------------------------------------------------------------------------------------


def a_site(kind="function"):
    return Site(kind, "step", sys._getframe(1))


def test_a_site_knows_its_line():
    site = a_site()
    line = test_a_site_knows_its_line.__code__.co_firstlineno + 1
    assert site.place == Place(__file__, line, "test_a_site_knows_its_line")
    assert site.totals == {}


@pytest.mark.parametrize(
    ("kind", "trains"),
    [
        *(("train", True), ("apply", True), ("gradient", True), ("tape", True)),
        *(("function", False), ("next", False), ("predict", False), ("save", False)),
    ],
)
def test_calls_that_change_weights_train_and_a_function_may(kind, trains):
    assert a_site(kind).trains is trains


def test_calls_are_counted_by_loop_with_the_longest():
    site = a_site()
    for loop, took_s in ((1, 2.0), (1, 5.0), (1, 1.0), (0, 7.0)):
        site.add(loop, took_s)
    assert site.totals == {1: [3, 8.0, 5.0], 0: [1, 7.0, 7.0]}


class Optimizer:
    """Counts its steps where Keras's do."""

    def __init__(self, steps):
        value = SimpleNamespace(numpy=lambda: self.steps)
        self.steps, self._iterations = steps, SimpleNamespace(_value=value)


def test_the_optimizer_that_has_taken_the_fewest_steps_tells_how_many():
    site, optimizers = a_site(), [Optimizer(10), Optimizer(4)]
    for optimizer in optimizers:
        site.note_optimizer(optimizer)
    assert site.iterations() == 4
    optimizers[1].steps = 40
    assert site.iterations() == 10


def test_a_function_without_an_optimizer_counts_nothing():
    assert a_site().iterations() is None


def test_an_optimizer_that_is_gone_or_not_built_counts_nothing():
    site, unbuilt, built = a_site(), SimpleNamespace(_iterations=None), Optimizer(3)
    site.note_optimizer(unbuilt)
    site.note_optimizer(Optimizer(1))
    gc.collect()
    assert site.iterations() is None
    site.note_optimizer(built)
    assert site.iterations() == 3


def test_an_optimizer_is_kept_once_and_only_so_many():
    site, optimizers = a_site(), [Optimizer(number) for number in range(20)]
    for optimizer in [*optimizers, *optimizers]:
        site.note_optimizer(optimizer)
    assert len(site.optimizers) == 8


def test_an_optimizer_that_takes_no_weak_reference_is_left_out():
    class Slotted:
        __slots__ = ()

    site = a_site()
    site.note_optimizer(Slotted())
    assert site.optimizers == []


def test_two_moments_give_what_happened_between_them():
    began, ended = Moment(1.0), Moment(4.0, wait_s=2.0, calls=3)
    assert (ended.at_s - began.at_s, ended.wait_s - began.wait_s) == (3.0, 2.0)
    assert began.calls == 0
