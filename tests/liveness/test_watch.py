"""What is said of a quiet run, and when: little, once, and only what was seen twice."""

import dataclasses
import itertools

import pytest

from quickfit.causes import stuck_mechanisms
from quickfit.findings import Evidence
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Frame, Machine
from quickfit.liveness.watch import LIMIT_S, Watch, evidence_of
from scenes import (
    EXECUTE,
    MOVING,
    STUCK,
    TWINS,
    at,
    fit,
    library,
    main_in_fit,
    scene,
    thread,
    user,
)


class Looks:
    """Looks at one scene after the other, on a clock of its own, and keeps what is said."""

    def __init__(self, one, **given):
        given.setdefault("mechanisms", stuck_mechanisms())
        self.watch = Watch(**given)
        self.scene = one
        self.quiet_from_s = one.at_s - one.quiet_s
        self.now = one.at_s
        self.said = []

    def later(self, seconds, **given):
        """Look again after a while in which nothing moved, but for what is given."""
        self.now += seconds
        quiet_s = self.now - self.quiet_from_s
        known = {"at_s": self.now, "quiet_s": quiet_s, "still_s": quiet_s, **given}
        self.scene = dataclasses.replace(self.scene, **known)
        news = self.watch.look(self.scene)
        self.said += [(self.now, one) for one in news]
        return [one.text for one in news]

    def kinds(self):
        """Return what kinds of news there were."""
        return [one.kind for _, one in self.said]


def silent_at(name, quiet_s):
    """Return a stuck scene as it was when it had been quiet for so long."""
    return dataclasses.replace(STUCK[name], quiet_s=quiet_s, still_s=quiet_s)


# -- phases -------------------------------------------------------------------------------------


def test_progress_is_told_with_rate_time_left_and_line():
    text = Looks(MOVING["shuffle-buffer-too-big"]).later(0.0)
    assert text == [
        "filling the shuffle buffer: 46,432 of 70,000, 2,500/s, ready in 9.4 s — train.py:30"
    ]


def test_nothing_is_said_of_a_run_that_moves():
    looks = Looks(dataclasses.replace(MOVING["slow-step"], quiet_s=1.0))
    assert [looks.later(1.5) for _ in range(2)] == [[], []]


def test_before_the_loop_a_little_more_patience_is_had():
    main = thread("main", user("text = open", "<module>"), cores=1.0, waits_in="", share=0.2)
    given = scene(threads=(main,), quiet_s=7.0)
    looks = Looks(given)
    assert looks.later(0.0) == []
    assert looks.later(1.0) == ["getting the data ready — train.py:28 (8.0 s so far)"]


def test_a_phase_is_told_once_while_nothing_changes():
    looks = Looks(dataclasses.replace(MOVING["slow-step"], quiet_s=6.0))
    for _ in range(8):
        looks.later(1.5)
    assert looks.kinds() == ["phase"]


def test_progress_is_told_again_after_ever_longer_times_and_only_if_there_is_some():
    looks = Looks(MOVING["cache-fill"])
    times = []
    for number in range(100):
        stages = list(looks.scene.stages)
        stages[2] = dataclasses.replace(stages[2], elements=3000 + 200 * number)
        if any("filling" in text for text in looks.later(1.5, stages=tuple(stages), still_s=0.0)):
            times.append(looks.now)
    apart = [after - before for before, after in itertools.pairwise(times)]
    assert apart == [15.0, 30.0, 60.0]


def test_a_new_phase_is_told_at_once():
    looks = Looks(MOVING["shuffle-buffer-too-big"])
    looks.later(0.0)
    assert looks.later(1.5, stages=()) == ["step 1 runs — train.py:33"]


def test_a_phase_is_timed_by_itself_and_not_by_the_silence_before_it():
    importing = thread("main", Frame("<frozen importlib._bootstrap>", 1, "_load", False))
    looks = Looks(scene(threads=(importing,), quiet_s=4.0))
    looks.later(0.0)
    building = thread("main", library("keras/src/layers/layer.py", "build_wrapper"))
    assert looks.later(2.0, threads=(building,)) == []
    assert looks.later(3.0) == ["building the model (3.0 s so far)"]


def test_a_process_is_without_an_answer_since_its_last_one():
    looks = Looks(scene(quiet_s=21.0, threads=(main_in_fit(),)))
    looks.later(0.0)
    (text, *_) = looks.later(7.0, is_answering=False, answered_s=1001.0)
    assert text.endswith("C code holds its lock (6.0 s so far)")


def test_of_a_script_that_has_ended_no_verdict_is_given():
    looks = Looks(dataclasses.replace(STUCK["held-lock"], ended_s=999.0))
    for _ in range(30):
        looks.later(1.5)
    assert looks.kinds() == ["phase"]
    text = "the script has ended; Python and TensorFlow shut down (2.5 s so far)"
    assert looks.said[0][1].text == text


def test_a_phase_is_not_told_again_because_a_loop_began():
    looks = Looks(scene(threads=(main_in_fit(library("site-packages/pandas/io/parsers.py")),)))
    assert looks.later(0.0) == ["getting the data ready — train.py:33 (20 s so far)"]
    assert looks.later(1.5, loop=fit()) == []


def test_a_short_step_after_a_long_tracing_is_not_told_as_a_long_one():
    looks = Looks(dataclasses.replace(MOVING["slow-step"], longest_s=0.0), limit_s=20.0)
    for number in range(6):
        looks.later(1.5, still_s=5.0 + 1.5 * number)
    assert "slow" not in looks.kinds()


def test_what_was_told_in_one_epoch_is_not_told_in_every_one():
    looks = Looks(dataclasses.replace(MOVING["slow-step"], quiet_s=6.0))
    assert looks.later(1.5)
    looks.later(1.5, steps=5, quiet_s=0.1)
    looks.quiet_from_s = looks.now
    assert looks.later(6.0) == []
    assert looks.later(20.0) != []  # more than three times as long as before


# -- verdicts -----------------------------------------------------------------------------------


def test_a_certain_reason_is_told_when_it_is_seen_twice():
    looks = Looks(silent_at("waits-for-stdin", 8.0))
    assert looks.kinds() == []
    looks.later(0.0)
    looks.later(1.5)
    assert looks.kinds() == ["phase"]  # seen twice, and not far enough apart
    assert looks.later(1.5) == [
        "stuck: the script waits for somebody to type — train.py:27 (waits-for-stdin)"
    ]
    assert looks.later(60.0) == []


def test_an_uncertain_reason_waits_for_the_limit():
    looks = Looks(silent_at("held-lock", 8.0))
    while looks.now - looks.quiet_from_s < LIMIT_S - 1.6:
        looks.later(1.5)
    assert looks.kinds() == ["phase"]
    looks.later(1.5)
    looks.later(1.5)
    assert looks.kinds() == ["phase", "stuck"]


def test_the_limit_can_be_given():
    looks = Looks(silent_at("held-lock", 8.0), limit_s=10.0)
    for _ in range(3):
        looks.later(1.5)
    assert looks.kinds() == ["phase", "stuck"]


def test_a_long_step_before_makes_the_limit_longer():
    looks = Looks(dataclasses.replace(silent_at("held-lock", 100.0), longest_s=30.0))
    assert looks.watch.limit_s(looks.scene) == 150.0
    for _ in range(30):
        looks.later(1.5)
    assert "stuck" not in looks.kinds()
    looks.later(10.0)
    assert looks.kinds()[-1] == "stuck"


def test_an_uncertain_reason_is_not_told_while_something_is_counted_on():
    looks = Looks(silent_at("held-lock", 60.0))
    for _ in range(20):
        looks.later(1.5, still_s=4.0)
    assert "stuck" not in looks.kinds()


def test_a_reason_that_changes_has_to_be_seen_anew():
    looks = Looks(silent_at("waits-for-stdin", 8.0))
    looks.later(1.5)
    looks.scene = dataclasses.replace(looks.scene, threads=STUCK["waits-for-workers"].threads)
    looks.later(1.5)
    looks.scene = dataclasses.replace(looks.scene, threads=STUCK["waits-for-stdin"].threads)
    looks.later(1.5)
    assert "stuck" not in looks.kinds()


def test_what_takes_long_and_gets_there_is_not_called_stuck():
    looks = Looks(dataclasses.replace(MOVING["slow-step"], longest_s=0.0), limit_s=20.0)
    for _ in range(4):
        looks.later(1.5)
    assert looks.kinds() == ["phase", "slow"]
    text = looks.said[-1][1].text
    assert text.startswith("not stuck: one step takes more than")


def test_a_run_that_moves_again_is_said_to_and_may_be_told_of_again():
    looks = Looks(silent_at("held-lock", 60.0))
    looks.later(1.5)
    looks.later(2.5)
    assert looks.later(1.5, steps=7, quiet_s=0.2, still_s=0.2) == ["moving again: step 7"]
    looks.quiet_from_s = looks.now
    for _ in range(30):
        looks.later(1.5)
    assert looks.kinds().count("stuck") == 2


def test_an_endless_epoch_is_told_once_while_its_steps_go_on():
    looks = Looks(STUCK["infinite-input-no-steps"])
    for number in range(6):
        looks.later(10.0, steps=900 + number, quiet_s=0.1, still_s=0.0)
    assert looks.kinds() == ["stuck"]


@pytest.mark.parametrize("name", TWINS)
def test_the_twin_that_is_slow_and_moves_is_never_called_stuck(name):
    one = TWINS[name]
    looks = Looks(one)
    still = {"still_s": one.still_s} if one.still_s < 1 else {}
    quiet = {"quiet_s": one.quiet_s} if one.quiet_s < 1 else {}
    for _ in range(60):
        looks.later(1.5, **still, **quiet)
    assert "stuck" not in looks.kinds()


# -- unknown ------------------------------------------------------------------------------------


def unexplained(**given):
    main = main_in_fit(library("odd/native.py"))
    known = {"loop": fit(steps=4), "steps": 4, "threads": (main,), "machine": Machine(cores=0.0)}
    return scene(**{**known, "longest_s": 0.5, **given})


def test_a_silence_after_the_first_step_that_nothing_explains_is_called_one():
    looks = Looks(unexplained(quiet_s=28.0))
    looks.later(1.0)
    assert looks.kinds() == ["phase"]
    looks.later(1.5)
    assert looks.kinds() == ["phase", "unknown"]
    text = looks.said[-1][1].text
    assert text == (
        "quiet, cause unknown: no step for 30 s, the longest before took 500 ms,"
        " the main thread stands at train.py:33, 0.0 cores busy"
    )
    assert looks.later(100.0) == []


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"steps": 0}, id="before the first step"),
        pytest.param({"loop": None}, id="outside any loop"),
        pytest.param({"threads": (main_in_fit(share=0.5),)}, id="while the main thread moves"),
        pytest.param({"threads": ()}, id="without any stack"),
    ],
)
def test_a_silence_is_not_called_unknown(given):
    looks = Looks(unexplained(**given))
    for _ in range(60):
        looks.later(1.5)
    assert "unknown" not in looks.kinds()


def test_a_silence_in_which_something_is_counted_on_is_not_called_unknown():
    looks = Looks(unexplained())
    for _ in range(60):
        looks.later(1.5, still_s=1.0)
    assert "unknown" not in looks.kinds()


# -- what is kept -------------------------------------------------------------------------------


def test_evidence_is_kept_as_plain_numbers():
    found = Reason("x", "s", None, (Evidence("a", 1, "count", "d", at("import")),), "advice")
    assert evidence_of(found) == [{"what": "a", "value": 1, "unit": "count", "detail": "d"}]


def test_a_reason_without_a_line_is_told_without_one():
    found = Reason("swap-thrash", "in swap", None, (), "advice", is_certain=True)
    swaps = Mechanism(lambda scene: found, Proof.WAITING)
    one = scene(threads=(main_in_fit(library(*EXECUTE)),))
    looks = Looks(one, mechanisms=[swaps])
    looks.later(1.5)
    assert looks.later(2.5) == ["stuck: in swap (swap-thrash)"]
