"""Reasons in the user's Python code, each against what only looks like it."""

import dataclasses

import pytest

from quickfit.liveness import in_python
from quickfit.liveness.in_locks import held_lock
from quickfit.liveness.in_python import empty_loop, silent_generator, stdin, swallowed
from scenes import (
    MOVING,
    SCRIPT,
    STUCK,
    TWINS,
    at,
    fit,
    generator,
    library,
    line_of,
    main_in_fit,
    making,
    raised,
    scene,
    thread,
    user,
)


def changed(name, **given):
    return dataclasses.replace(STUCK[name], **given)


# -- stdin --------------------------------------------------------------------------------------


def test_a_question_that_nobody_answers_is_certain():
    found = stdin(STUCK["waits-for-stdin"])
    assert (found.cause, found.where, found.is_certain) == (
        "waits-for-stdin",
        at("answer = input"),
        True,
    )


def test_a_debugger_is_called_one():
    frames = (library("python3.11/pdb.py", "interaction"), user("image = load(path)"))
    main = thread("main", *frames, waits_in="poll", waits_for="stdin")
    assert "a debugger's prompt" in stdin(scene(threads=(main,))).summary


def test_a_question_is_believed_without_the_systems_word_but_not_at_once():
    main = thread("main", user("answer = input", "<module>"), waits_in="", cores=None)
    assert stdin(scene(threads=(main,))).is_certain is False


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"waits_in": "futex"}, id="it sleeps in something else"),
        pytest.param({"cores": 0.8, "waits_in": "read", "waits_for": "stdin"}, id="it works"),
        pytest.param({"waits_in": "", "share": 0.5, "cores": None}, id="it moves"),
    ],
)
def test_a_line_that_asks_but_does_not_wait_is_no_question(given):
    main = thread("main", user("answer = input", "<module>"), **given)
    assert stdin(scene(threads=(main,))) is None


def test_reading_data_from_a_pipe_is_no_question():
    assert stdin(TWINS["waits-for-stdin"]) is None


def test_a_pipe_through_which_nothing_comes_is_told_after_the_limit_only():
    source = "for line in sys.stdin:\n    rows.append(line)\n"
    main = thread("main", user("sys.stdin", source=source), waits_in="read", waits_for="stdin")
    found = stdin(scene(threads=(main,), sources={SCRIPT: source}))
    assert "something to come through stdin" in found.summary
    assert not found.is_certain


# -- swallowed exceptions -----------------------------------------------------------------------


def test_the_exception_its_line_and_how_often_are_told():
    found = swallowed(STUCK["generator-never-yields"])
    assert found.is_certain
    assert (found.where, found.also) == (at("image = load(path)"), at("except Exception"))
    assert "FileNotFoundError is raised and swallowed 4,500 times a second" in found.summary
    assert "batch 1 never comes" in found.summary
    assert "No such file or directory: 'a.jpg'" in found.summary


def test_a_generator_that_skips_most_files_is_given_until_the_limit():
    """Nine of ten files are missing, and the tenth takes a third of a second."""
    one = raised(6)
    found = swallowed(changed("generator-never-yields", raised=(one,), still_s=10.0))
    assert not found.is_certain


def test_a_loop_of_the_scripts_own_over_a_generator_that_swallows_is_told_after_the_limit():
    inside = (user("image = load(path)"), user("answer = input", "<module>"))
    main = thread("main", *inside, cores=1.0, waits_in="")
    found = swallowed(scene(threads=(main,), raised=(raised(),)))
    assert (found.cause, found.is_certain) == ("generator-never-yields", False)


def test_data_that_is_read_with_errors_before_any_loop_is_no_generator():
    main = thread("main", user("text = open", "read"), cores=1.0, waits_in="")
    assert swallowed(scene(threads=(main,), raised=(raised(),))) is None


def test_a_long_message_is_cut_and_kept_on_one_line():
    one = dataclasses.replace(raised(), message="no\nsuch " + "x" * 500)
    found = swallowed(changed("generator-never-yields", raised=(one,)))
    assert "\n" not in found.summary
    assert len(found.summary) < 250


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"raised": (raised(4),)}, id="few exceptions"),
        pytest.param({"raised": ()}, id="none was looked at"),
        pytest.param({"raised": (raised(place=None),)}, id="none of the user's lines"),
        pytest.param({"still_s": 0.1}, id="something came meanwhile"),
    ],
)
def test_swallowed_exceptions_are_no_reason_with(given):
    assert swallowed(changed("generator-never-yields", **given)) is None


def test_exceptions_of_a_run_without_any_python_input_are_no_reason():
    threads = (main_in_fit(),)
    assert swallowed(scene(loop=fit(), threads=threads, raised=(raised(),))) is None


# -- an empty loop ------------------------------------------------------------------------------


def test_a_loop_over_nothing_is_told_with_its_inner_line():
    found = empty_loop(STUCK["empty-input"])
    assert (found.cause, found.where, found.is_certain) == ("empty-input", at("for path in"), True)


def test_a_loop_of_which_one_line_alone_is_seen_is_told_after_the_limit_only():
    lines = ((SCRIPT, line_of("for path"), 80),)
    maker = dataclasses.replace(STUCK["empty-input"].threads[1], lines=lines)
    found = empty_loop(changed("empty-input", threads=(maker,)))
    assert not found.is_certain


def chunks(source, library_file):
    """Return a generator that stands at a loop which asks a library for its next item."""
    frames = (library(library_file), user("for part in", source=source))
    maker = making(*frames, lines=((SCRIPT, 3, 80),), cores=1.0, waits_in="")
    return scene(threads=(maker,), sources={SCRIPT: source})


def test_a_loop_that_waits_for_a_library_is_not_empty():
    lines = ("def batches():", " while True:", "  for part in read_csv(path):", "   yield 1")
    source = "\n".join(lines)
    assert empty_loop(chunks(source, "pandas/io/parsers.py")) is None
    listing = source.replace("read_csv(path)", 'glob("*.jpeg")')
    assert empty_loop(chunks(listing, "python3.11/glob.py")) is not None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"lines": ((SCRIPT, line_of("for path"), 19),)}, id="too few looks"),
        pytest.param({"cores": 0.1}, id="it sleeps"),
        pytest.param(
            {"lines": ((SCRIPT, line_of("for path"), 80), (SCRIPT, line_of("yield image"), 1))},
            id="its body runs",
        ),
    ],
)
def test_a_loop_is_not_empty_when(given):
    maker = dataclasses.replace(STUCK["empty-input"].threads[1], **given)
    threads = (STUCK["empty-input"].threads[0], maker)
    assert empty_loop(changed("empty-input", threads=threads)) is None


# -- a generator that gives nothing -------------------------------------------------------------


def test_a_generator_that_sleeps_is_told_with_its_line_and_what_it_waits_in():
    found = silent_generator(STUCK["generator-never-yields, asleep"])
    assert found.where == at("image = load(path)")
    assert (
        "has given 5 batches and no more: it waits at train.py:7 (clock_nanosleep)" in found.summary
    )
    assert not found.is_certain  # it may come back


def test_a_generator_that_has_given_batches_and_now_only_computes_is_told():
    maker = making(user("image = load(path)"), cores=1.0, waits_in="", share=0.4)
    found = silent_generator(scene(loop=fit(), threads=(maker,), inputs=(generator(batches=5),)))
    assert "runs and gives nothing" in found.summary


def test_a_busy_first_batch_that_will_be_given_is_waited_for():
    assert silent_generator(TWINS["generator-never-yields, asleep"]) is None


def test_the_first_batch_of_a_loop_without_a_yield_is_not_waited_for():
    source = "def batches():\n    while True:\n        collect()\n    yield 1\n"
    peek = (
        user("collect()", source=source),
        library("keras/src/trainers/data_adapters/generator_data_adapter.py", "peek"),
    )
    main = thread("main", *peek, cores=1.0, waits_in="")
    found = silent_generator(scene(threads=(main,), sources={SCRIPT: source}))
    assert found.cause == "generator-never-yields"


def test_a_generator_that_sleeps_here_and_there_moves():
    maker = making(user("image = load(path)"), share=0.4, waits_in="clock_nanosleep")
    given = scene(loop=fit(), threads=(maker,), inputs=(generator(batches=5),))
    assert silent_generator(given) is None


# -- neighbours ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "own"),
    [
        (stdin, {"waits-for-stdin"}),
        (held_lock, {"held-lock"}),
        (swallowed, {"generator-never-yields"}),
        (empty_loop, {"empty-input"}),
    ],
)
def test_a_mechanism_stays_silent_on_the_scenes_of_all_others(mechanism, own):
    told = {name for name, one in {**STUCK, **MOVING}.items() if mechanism(one) is not None}
    assert told == own
    assert not [name for name, one in TWINS.items() if mechanism(one) is not None]


def test_a_rate_below_one_a_second_is_told_in_words():
    assert in_python._how_often(0.2) == "again and again"
