"""Reasons in the user's Python code, each against what only looks like it."""

import dataclasses

import pytest

from quickfit.liveness.in_locks import held_lock
from scenes import (
    EXECUTE,
    STUCK,
    fit,
    library,
    main_in_fit,
    making,
    scene,
    thread,
    user,
)


def changed(name, **given):
    return dataclasses.replace(STUCK[name], **given)


def test_both_lines_of_a_held_lock_are_told():
    found = held_lock(STUCK["held-lock"])
    assert (found.where.short, found.also.short) == ("train.py:3", "train.py:8")
    assert "holds it at train.py:8" in found.summary
    assert not found.is_certain  # a lock may be held for a while


def test_two_threads_that_wait_for_each_other_are_told():
    waits = main_in_fit(library("threading.py", "acquire"), user("with self._lock", "load"))
    too = thread("other", library("queue.py", "get"), user("answer = input", "answer"))
    assert "waits too" in held_lock(scene(threads=(waits, too))).summary


def test_a_generator_that_waits_for_a_queue_does_not_wait_for_the_fit_that_waits_for_it():
    waits = making(library("queue.py", "get"), user("image = load(path)"))
    assert held_lock(scene(loop=fit(), threads=(main_in_fit(library(*EXECUTE)), waits))) is None


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"cores": 0.9, "waits_in": ""}, id="works"),
        pytest.param({"waits_in": "read"}, id="reads"),
        pytest.param({"waits_in": "clock_nanosleep"}, id="sleeps for a while"),
    ],
)
def test_waiting_for_a_thread_is_no_held_lock_while_that_one(other):
    waits = main_in_fit(library("threading.py", "join"), user("pool = ", "<module>"))
    others = thread("other", user("answer = input", "fetch"), **other)
    assert held_lock(scene(threads=(waits, others))) is None


def test_a_lone_thread_in_a_lock_waits_for_no_other_thread_of_the_script():
    waits = main_in_fit(library("threading.py", "wait"), user("pool = ", "<module>"))
    assert held_lock(scene(threads=(waits,))) is None


def test_a_lock_inside_a_library_is_not_the_users():
    inner = (library("threading.py", "acquire"), library("requests/sessions.py", "get"))
    waits = main_in_fit(*inner, user("text = open", "<module>"))
    holds = thread("other", user("fetch()", "background"))
    assert held_lock(scene(threads=(waits, holds))) is None


def test_a_thread_that_comes_and_goes_at_a_lock_is_not_stuck():
    threads = STUCK["held-lock"].threads
    moving = dataclasses.replace(threads[1], share=0.5)
    assert held_lock(changed("held-lock", threads=(threads[0], moving, threads[2]))) is None
