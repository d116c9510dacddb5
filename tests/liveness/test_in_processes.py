"""Reasons in other processes: hung workers, workers that run the script again, missing peers."""

import dataclasses
import json

import pytest

from quickfit.liveness.in_processes import (
    cluster_of,
    fork_deadlock,
    missing_workers,
    unguarded_spawn,
)
from scenes import CLUSTER, MOVING, STUCK, TWINS, child, fit, library, main_in_fit, scene, user


def changed(name, **given):
    return dataclasses.replace(STUCK[name], **given)


def refused(peer):
    return False


# -- fork ---------------------------------------------------------------------------------------


def test_hung_workers_are_told_with_their_line_and_number():
    found = fork_deadlock(STUCK["fork-deadlock"])
    assert found.cause == "fork-deadlock"
    assert found.where.text.startswith("def load")
    assert "all 2 workers forked from the script wait for a lock" in found.summary
    assert found.evidence[0].detail == "process 7, 8"
    assert found.is_certain


def test_workers_that_cannot_be_looked_into_are_told_after_the_limit_only():
    found = fork_deadlock(changed("fork-deadlock", children=(child(7),)))
    assert "a worker forked from the script" in found.summary
    assert found.where.text.startswith("model.fit(")
    assert not found.is_certain


@pytest.mark.parametrize(
    "children",
    [
        pytest.param((child(7), child(8, cores=0.4)), id="one works"),
        pytest.param((child(7), child(8, waits_in="read")), id="one waits for work"),
        pytest.param((child(7, age_s=1.0),), id="it is being started"),
        pytest.param((child(7, is_fork=False),), id="it is another program"),
        pytest.param((), id="there is none"),
    ],
)
def test_workers_are_not_hung_when(children):
    assert fork_deadlock(changed("fork-deadlock", children=children)) is None


def test_workers_that_nobody_waits_for_may_sleep():
    threads = (main_in_fit(library("tensorflow/python/eager/execute.py")),)
    assert fork_deadlock(changed("fork-deadlock", threads=threads)) is None


def test_workers_are_not_hung_while_something_is_counted_on():
    assert fork_deadlock(changed("fork-deadlock", still_s=1.0)) is None


# -- spawn --------------------------------------------------------------------------------------


def test_workers_that_run_the_script_again_are_told_with_the_line_that_starts_them():
    found = unguarded_spawn(STUCK["unguarded-spawn"])
    assert found.where.text.startswith("pool = ")
    assert found.also.text == "import tensorflow as tf"
    assert found.is_certain


def test_workers_of_a_guarded_script_import_it_and_that_is_fine():
    assert unguarded_spawn(TWINS["unguarded-spawn"]) is None


def test_one_young_worker_of_a_script_that_moves_is_no_reason():
    assert unguarded_spawn(changed("unguarded-spawn", children_born=1, still_s=0.5)) is None


def test_without_the_scripts_text_nothing_is_said_of_its_guard():
    assert unguarded_spawn(changed("unguarded-spawn", sources={})) is None


# -- missing peers ------------------------------------------------------------------------------


def test_the_missing_worker_is_named():
    found = missing_workers(STUCK["waits-for-workers"], answers=refused)
    assert found.cause == "waits-for-workers"
    assert "a worker that nobody listens at: there:2" in found.summary
    assert found.evidence[0].detail == "this one is here:1"
    assert found.is_certain


@pytest.mark.parametrize("answer", [True, None])
def test_a_worker_that_answers_or_cannot_be_reached_is_not_called_missing(answer):
    assert missing_workers(STUCK["waits-for-workers"], answers=lambda peer: answer) is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"environment": {}}, id="no cluster"),
        pytest.param({"threads": ()}, id="no stack"),
        pytest.param({"threads": (main_in_fit(),)}, id="not in the distribution's code"),
        pytest.param({"loop": fit()}, id="it has started"),
    ],
)
def test_nobody_is_missing_with(given):
    assert missing_workers(changed("waits-for-workers", **given), answers=refused) is None


def test_a_start_that_keeps_pythons_lock_is_told_at_the_strategys_line():
    """TensorFlow waits for its peers in C code: no thread of the script can be looked at."""
    given = {"threads": (), "is_answering": False}
    found = missing_workers(changed("waits-for-workers", **given), answers=refused)
    assert found.where.text.startswith("strategy = ")
    unknown = changed("waits-for-workers", **given, sources={})
    assert missing_workers(unknown, answers=refused).where is None


def test_the_own_address_is_never_asked():
    asked = []
    missing_workers(STUCK["waits-for-workers"], answers=lambda peer: asked.append(peer))
    assert asked == ["there:2"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "{}",
        '{"cluster": 3, "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "chief", "index": 0}}',
        '{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 9}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": null}, "task": {"type": "worker", "index": 0}}',
        "[" * 100_000,
    ],
)
def test_what_is_no_cluster_of_several_is_none(text):
    assert cluster_of(text) is None


def test_a_cluster_may_be_written_with_numbers_as_names():
    cluster = {"chief": ["c:1"], "worker": {"0": "a:1", "1": "b:2"}}
    told = json.dumps({"cluster": cluster, "task": {"type": "chief", "index": "0"}})
    assert cluster_of(told) == ("c:1", ["c:1", "a:1", "b:2"])
    assert cluster_of(CLUSTER) == ("here:1", ["here:1", "there:2"])


# -- neighbours ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "own"),
    [
        (fork_deadlock, "fork-deadlock"),
        (unguarded_spawn, "unguarded-spawn"),
        (lambda one: missing_workers(one, answers=refused), "waits-for-workers"),
    ],
)
def test_a_mechanism_stays_silent_on_the_scenes_of_all_others(mechanism, own):
    told = {name for name, one in {**STUCK, **MOVING}.items() if mechanism(one) is not None}
    assert told == {own}
    assert not [name for name, one in TWINS.items() if mechanism(one) is not None]


def test_a_worker_without_a_line_is_placed_at_the_input_it_works_for():
    from scenes import generator

    waiter = main_in_fit(library("python3.11/multiprocessing/pool.py", "get"))
    given = scene(loop=fit(), threads=(waiter,), children=(child(7),), inputs=(generator(),))
    assert fork_deadlock(given).where.text.startswith("def batches")
    assert user("def batches").line == fork_deadlock(given).where.line
