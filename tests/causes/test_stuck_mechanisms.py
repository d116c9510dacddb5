"""Each way to be stuck is told apart from the others, and from what is only slow."""

import dataclasses

import pytest

from quickfit.causes import catalogue, stuck_mechanisms
from quickfit.causes.compile.xla_first_compile import show_compiling
from quickfit.causes.input.decode_full_size import show_slow_decoding
from quickfit.causes.input.shuffle_buffer_too_big import show_shuffle_fill
from quickfit.causes.stuck import waits_for_workers
from quickfit.causes.stuck.cache_fill import show_cache_fill
from quickfit.causes.stuck.empty_input import show_all_filtered
from quickfit.causes.stuck.slow_step import show_slow_step
from quickfit.liveness.reason import first_reason
from quickfit.liveness.scene import Machine
from scenes import (
    MOVING,
    STUCK,
    TWINS,
    cause_of,
    fit,
    main_in_fit,
    scene,
    stage,
)

SCENES = {**STUCK, **MOVING}
# What is told by elimination fits other scenes too, and is asked later.
BY_ORDER = {"show_silent_generator", "show_shuffle_fill", "show_slow_step"}
BY_THEMSELVES = [
    (name, mechanism.show)
    for name, cause in catalogue().items()
    for mechanism in cause.live
    if mechanism.show.__name__ not in BY_ORDER
]


@pytest.fixture(autouse=True)
def nobody_listens(monkeypatch):
    """Answer for the peers of a cluster: no connection leaves a test."""
    monkeypatch.setattr(waits_for_workers, "_PEERS", lambda peer: False)


def reason(scene):
    return first_reason(stuck_mechanisms(), scene)


@pytest.mark.parametrize("name", STUCK)
def test_says_why_it_does_not_move(name):
    found = reason(STUCK[name])
    assert found is not None
    assert found.cause == cause_of(name)
    assert len(found.evidence) >= 2
    assert found.advice


@pytest.mark.parametrize("name", MOVING)
def test_says_what_takes_long_and_gets_there(name):
    found = reason(MOVING[name])
    assert found is not None
    assert (found.cause, found.moves) == (name, True)
    assert len(found.evidence) >= 2


@pytest.mark.parametrize("name", TWINS)
def test_says_nothing_of_the_twin_that_is_slow_and_moves(name):
    found = reason(TWINS[name])
    assert found is None or found.moves


@pytest.mark.parametrize(("cause", "show"), BY_THEMSELVES)
def test_a_mechanism_stays_silent_on_the_scenes_of_all_others(cause, show):
    told = {cause_of(name) for name, one in SCENES.items() if show(one) is not None}
    assert told == {cause}
    assert not [name for name, one in TWINS.items() if show(one) is not None]


def test_the_same_cause_at_the_same_line_is_the_same_reason():
    one, other = reason(STUCK["held-lock"]), reason(STUCK["held-lock"])
    assert one.key == other.key == ("held-lock", "train.py:3")
    assert reason(STUCK["swap-thrash"]).key != one.key


def test_the_strongest_proof_is_asked_for_first():
    proofs = [mechanism.proof for mechanism in stuck_mechanisms()]
    assert proofs == sorted(proofs)
    assert len(proofs) >= 18


def changed(name, **given):
    return dataclasses.replace(SCENES[name], **given)


def test_compiling_and_a_long_step_need_a_busy_machine():
    idle = {"machine": Machine(cores=0.1)}
    assert show_compiling(changed("xla-first-compile", **idle)) is None
    assert show_slow_step(changed("slow-step", **idle)) is None


def test_a_pipeline_that_gives_nothing_and_takes_nothing_fills_nothing():
    stages = (stage("batch", 0, 0.0, size=32), stage("map", 0, 0.0))
    given = scene(loop=fit(), threads=(main_in_fit(),), stages=stages)
    for mechanism in (show_shuffle_fill, show_cache_fill, show_slow_decoding, show_all_filtered):
        assert mechanism(given) is None
