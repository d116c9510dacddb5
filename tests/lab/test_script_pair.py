"""Two versions of a script measured in turns, and how far a training is by its recording."""

import contextlib
import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest

from quickfit.lab import script_pair as module
from quickfit.lab.script_pair import (
    LONGEST_S,
    MIN_STEPS,
    WARM_STEPS,
    PairResult,
    Scope,
    Setting,
    Version,
    measure_round,
    progress_of,
    scope_of,
)
from quickfit.lab.statistics import OwnTime
from quickfit.launch.target import Target
from quickfit.recording.reader import ProcessRecording, Recording

import builders


def process(*loops, role="main"):
    """Return a process with loops, each given as kind, facts, epochs and steps, a second each."""
    tables = {"loops": [], "steps": []}
    at_s = 100.0
    for number, (kind, facts, epochs, steps, is_over) in enumerate(loops, 1):
        entered_s = at_s
        for epoch in range(epochs):
            for _ in range(steps):
                at_s += 1.0
                tables["steps"].append({"loop": number, "epoch": epoch, "end_s": at_s})
        tables["loops"].append(
            {
                "id": number,
                "kind": kind,
                "facts": facts,
                "entered_s": entered_s,
                "end_s": at_s + 0.5 if is_over else None,
            }
        )
    return ProcessRecording(Path("1.sqlite"), {"role": role}, tables)


def recording(*loops, others=()):
    return Recording(Path("run.qfrun"), {}, process(*loops), list(others), [])


def test_before_the_first_step_there_is_no_progress():
    assert progress_of(None) is None
    assert progress_of(recording()) is None
    assert progress_of(recording(("fit", {}, 0, 0, False))) is None


def test_steps_and_epochs_are_marks_of_the_common_clock():
    found = progress_of(recording(("fit", {}, 3, 4, False)))
    assert found.begin_s == 100.0
    assert found.first_step_s == 101.0
    assert found.steps[-1] == (112.0, 12.0)
    assert found.epochs == ((104.0, 1.0), (108.0, 2.0))
    assert found.epoch_steps == 4.0
    assert found.end_s == 112.0


def test_a_training_that_is_over_ends_when_its_loop_does():
    assert progress_of(recording(("fit", {}, 1, 4, True))).end_s == 104.5


def test_an_epoch_that_goes_on_is_no_mark():
    found = progress_of(recording(("fit", {}, 1, 4, False)))
    assert (found.epochs, found.epoch_steps) == ((), 0.0)


def test_what_fit_says_of_an_epoch_is_known_before_one_is_over():
    assert progress_of(recording(("fit", {"steps": 60}, 1, 4, False))).planned_steps == 60.0
    assert progress_of(recording(("fit", {"steps": None}, 1, 4, False))).planned_steps == 0.0


def test_steps_that_are_made_several_at_once_count_as_such():
    found = progress_of(recording(("fit", {"steps_per_execution": 8}, 2, 3, False)))
    assert [done for _, done in found.steps] == [8, 16, 24, 32, 40, 48]
    assert found.epoch_steps == 24


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param(("predict", {}, 1, 9, True), id="predict"),
        pytest.param(("evaluate", {}, 1, 9, True), id="evaluate"),
        pytest.param(("custom", {"trains": False}, 1, 9, True), id="a loop that trains nothing"),
    ],
)
def test_loops_that_do_not_train_are_no_progress(loop):
    assert progress_of(recording(loop)) is None
    found = progress_of(recording(loop, ("fit", {}, 1, 4, False)))
    assert found.begin_s == 109.0
    assert [done for _, done in found.steps] == [1, 2, 3, 4]


def test_several_trainings_go_on_one_after_the_other():
    fit = ("fit", {}, 1, 4, True)
    found = progress_of(recording(fit, fit, fit))
    assert found.steps[-1][1] == 12
    assert [done for _, done in found.epochs] == [1, 2]


def test_the_process_that_trains_is_taken():
    worker = process(("fit", {}, 2, 6, False), role="descendant")
    found = progress_of(recording(("fit", {}, 1, 1, False), others=[worker]))
    assert len(found.steps) == 12


def test_the_first_steps_of_a_long_training_do_not_count():
    long = progress_of(recording(("fit", {}, 1, WARM_STEPS + MIN_STEPS, False)))
    assert long.warm_steps() == long.steps[WARM_STEPS:]
    short = progress_of(recording(("fit", {}, 1, WARM_STEPS + MIN_STEPS - 1, False)))
    assert short.warm_steps() == short.steps


def test_a_recording_as_probes_write_it_can_be_read():
    found = progress_of(builders.recording(steps=60, epochs=3, step_s=0.1))
    assert len(found.steps) == 60
    assert found.epoch_steps == 20


A, B = Version("the original", {}), Version("the edited script", {"train.py": b"edited"})
C = Version("another edited script", {"train.py": b"c"})


class Clock:
    """A clock that goes on by sleeping, and a little by looking at it."""

    def __init__(self):
        self.now_s = 1000.0

    def monotonic(self):
        self.now_s += 1e-4
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds


class Trial:
    """A script with steps of one length, in own time; it stops itself after the first."""

    def __init__(
        self,
        clock,
        *,
        first_s=3.0,
        step_s=0.1,
        epoch_steps=10_000,
        epoch_s=0.0,
        steps=None,
        fails_s=None,
        after_s=0.0,
        bytes_at=lambda own_s: 1e9,
    ):
        self.clock = clock
        self.first_s, self.step_s, self.steps = first_s, step_s, steps
        self.epoch_steps, self.epoch_s = epoch_steps, epoch_s
        self.fails_s, self.after_s, self.bytes_at = fails_s, after_s, bytes_at
        self.spans = [[clock.now_s]]
        self.why_ended, self.peak_bytes = "", 0
        self.is_ended, self.is_killed = False, False

    # -- what it would be doing

    @property
    def own_s(self):
        spans = [s if len(s) == 2 else [s[0], self.clock.now_s] for s in self.spans]
        return OwnTime(spans).total_s

    def ends(self):
        """Return when each step ends, in own time, with its epoch."""
        number, at_s, found = 0, self.first_s, []
        while at_s <= self.own_s and (self.steps is None or number < self.steps):
            found.append((at_s, number // self.epoch_steps))
            number += 1
            at_s += self.step_s + (self.epoch_s if number % self.epoch_steps == 0 else 0.0)
        return found

    def common(self, own_s):
        for span in self.spans:
            end_s = span[1] if len(span) == 2 else self.clock.now_s
            if own_s <= end_s - span[0] + 1e-9:
                return span[0] + own_s
            own_s -= end_s - span[0]
        return self.clock.now_s

    # -- what a trial does

    @property
    def has_ended(self):
        if not self.is_ended and self.failed():
            self.is_ended = True
        ends = self.ends() if self.steps is not None else []
        if self.steps is not None and len(ends) >= self.steps:
            self.is_ended = self.is_ended or self.own_s >= ends[-1][0] + self.after_s
        return self.is_ended

    def failed(self):
        return self.fails_s is not None and self.own_s >= self.fails_s

    def failure(self):
        is_killed = self.is_killed or self.failed()
        return self.why_ended or ("ended by SIGKILL" if is_killed else "")

    @property
    def keeper(self):
        code = -9 if self.failure() else 0 if self.is_ended else None
        return SimpleNamespace(poll=lambda: code)

    def is_held(self):
        if len(self.spans) == 1 and len(self.spans[0]) == 1 and self.own_s >= self.first_s:
            self.spans[0].append(self.spans[0][0] + self.first_s)
        return len(self.spans[-1]) == 2

    def hold(self):
        if len(self.spans[-1]) == 1:
            self.spans[-1].append(self.clock.now_s)

    def go_on(self):
        if len(self.spans[-1]) == 2 and not self.has_ended:
            self.spans.append([self.clock.now_s])

    def end(self, why=""):
        self.why_ended = self.why_ended or why
        self.is_killed = self.is_killed or not self.has_ended
        if len(self.spans[-1]) == 1:
            self.spans[-1].append(self.clock.now_s)
        self.is_ended = True

    def check_memory(self, limit):
        self.peak_bytes = max(self.peak_bytes, self.bytes_at(self.own_s))
        if self.peak_bytes > limit:
            self.end(f"took {self.peak_bytes / 1e9:.1f} GB of memory, more than is free")
        return self.peak_bytes > limit

    def read(self):
        rows = [{"loop": 1, "epoch": e, "end_s": self.common(s)} for s, e in self.ends()]
        is_over = self.steps is not None and len(rows) >= self.steps
        loop = {
            "id": 1,
            "kind": "fit",
            "facts": {},
            "entered_s": self.spans[0][0] + self.first_s / 2,
            "end_s": rows[-1]["end_s"] if is_over else None,
        }
        main = ProcessRecording(Path("1"), {}, {"loops": [loop], "steps": rows})
        return Recording(Path("run"), {}, main, [], [])


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Measure two stand-ins; keep them, and the order in which they were started."""
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "free_memory_bytes", lambda: 10e9)

    def measure(first, second, third=None, *, number=0, budget_s=600.0, **how):
        how_third = third
        setting = Setting(Target(script="train.py"), tmp_path, tmp_path, **how)
        begun, told, ended = [], [], []

        @contextlib.contextmanager
        def started(target, folder, *, cwd, texts, holds, trusts_script):
            assert holds
            versions = {b"": first, b"c": how_third}
            trial = Trial(clock, **versions.get(texts.get("train.py", b""), second))
            ended.append(any(other.is_ended for _, _, other in begun))
            begun.append(("B" if texts else "A", clock.now_s, trial))
            try:
                yield trial
            finally:
                trial.end()

        monkeypatch.setattr(module, "started", started)
        results = measure_round(
            (A, B) if third is None else (A, B, C),
            setting,
            number=number,
            deadline_s=clock.now_s + budget_s,
            tell=told.append,
        )
        trials = {who: trial for who, _, trial in begun}
        return SimpleNamespace(
            result=results[0],
            results=results,
            order="".join(who for who, _, _ in begun),
            started_s=[at_s for _, at_s, _ in begun],
            told=told,
            trials=trials,
            is_ended_at_start=ended,
        )

    return measure


def epochs(marks, known, size):
    """Return what was seen of a training whose epochs have a number of steps, however known."""
    sizes = {"epoch_steps": 0.0, "planned_steps": 0.0, known: size}
    return SimpleNamespace(**sizes, warm_steps=lambda: marks)


# -- what is compared ---------------------------------------------------------------------------


def test_steps_are_compared_where_an_epoch_takes_too_long(measured):
    found = measured({"step_s": 0.2}, {"step_s": 0.1}).result
    assert found.unit == "steps"
    assert found.ratio == pytest.approx(2.0, rel=0.02)
    assert found.why == ""


def test_whole_epochs_are_compared_where_they_are_short(measured):
    slow = {"step_s": 0.05, "epoch_steps": 20, "epoch_s": 1.0}
    fast = {"step_s": 0.05, "epoch_steps": 20, "epoch_s": 0.0}
    found = measured(slow, fast).result
    assert found.unit == "whole epochs"
    assert found.ratio == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize(
    ("parts", "scope"),
    [
        ((), Scope.STEPS),
        (("input_wait",), Scope.STEPS),
        (("callbacks", "something new"), Scope.STEPS),
        (("input_wait", "iterator_ends"), Scope.EPOCHS),
        (("validation", "looks"), Scope.EPOCHS),
        (("tracing", "step"), Scope.TRAINING),
        (("epoch_start", "input_wait"), Scope.TRAINING),
        (("before_training",), Scope.RUN),
        (("saving", "tracing"), Scope.RUN),
    ],
)
def test_the_parts_of_the_account_say_what_to_compare(parts, scope):
    assert scope_of(parts) is scope


def test_a_short_run_is_run_whole_where_its_tracing_is_to_become_shorter(measured):
    # 40 steps that trace every time, and the same 40 steps traced once.
    slow, fast = {"step_s": 0.6, "steps": 40}, {"step_s": 0.02, "steps": 40}
    found = measured(slow, fast, scope=Scope.TRAINING, run_s=30.0).result
    assert found.unit == "the whole training"
    # From the loop's begin on, 1.5 s before the first step of both.
    assert found.ratio == pytest.approx((1.5 + 39 * 0.6) / (1.5 + 39 * 0.02), rel=0.05)


def test_a_long_run_is_compared_up_to_a_step_that_both_have_made(measured):
    found = measured({"step_s": 0.6}, {"step_s": 0.02}, scope=Scope.TRAINING)
    assert found.result.unit == "steps from the start"
    assert found.result.ratio > 5
    assert found.trials["A"].own_s < LONGEST_S + 5.0
    slow = measured({"step_s": 2.0}, {"step_s": 0.02}, scope=Scope.TRAINING)
    assert slow.result.ratio > 10
    assert slow.trials["A"].own_s > 40.0  # few steps say little


def test_what_comes_after_the_training_counts_where_it_is_what_was_fixed(measured):
    slow, fast = {"steps": 20, "after_s": 12.0}, {"steps": 20, "after_s": 1.0}
    assert measured(slow, fast).result.ratio == pytest.approx(1.0, rel=0.1)
    found = measured(slow, fast, scope=Scope.RUN, run_s=17.0).result
    assert found.unit == "the whole run"
    assert found.ratio == pytest.approx((3 + 1.9 + 12) / (3 + 1.9 + 1), rel=0.1)


def test_whole_epochs_are_waited_for_where_they_are_what_counts(measured):
    slow = {"step_s": 0.05, "epoch_steps": 200, "epoch_s": 5.0}
    fast = {"step_s": 0.05, "epoch_steps": 200, "epoch_s": 0.0}
    assert measured(slow, fast).result.unit == "steps"
    found = measured(slow, fast, scope=Scope.EPOCHS).result
    assert found.unit == "whole epochs"
    assert found.ratio == pytest.approx(1.5, rel=0.1)


def test_a_plain_difference_needs_fewer_blocks(measured):
    plain = measured({"step_s": 0.05, "epoch_steps": 10}, {"step_s": 0.01, "epoch_steps": 10})
    near = measured({"step_s": 0.05, "epoch_steps": 10}, {"step_s": 0.05, "epoch_steps": 10})
    assert plain.trials["A"].own_s < near.trials["A"].own_s - 1.0


def test_several_versions_take_turns_with_the_same_original(measured):
    found = measured({"step_s": 0.2}, {"step_s": 0.1}, {"step_s": 0.05})
    assert [round(result.ratio, 1) for result in found.results] == [2.0, 4.0]
    assert len(found.order) == 3


def test_a_version_that_fails_leaves_the_others_alone(measured):
    found = measured({"step_s": 0.2}, {"fails_s": 4.0}, {"step_s": 0.05})
    assert (found.results[0].ratio, found.results[0].is_fault_of_second) == (None, True)
    assert found.results[1].ratio == pytest.approx(4.0, rel=0.05)


def test_an_original_that_fails_is_said_of_all(measured):
    found = measured({"fails_s": 4.0}, {"step_s": 0.1}, {"step_s": 0.05})
    assert [result.why for result in found.results] == ["the original ended by SIGKILL"] * 2


def test_the_whole_training_is_compared_where_both_came_to_its_end(measured):
    found = measured({"step_s": 0.1, "steps": 40}, {"step_s": 0.05, "steps": 40}).result
    assert found.unit == "the whole training"
    assert found.ratio == pytest.approx(2.0, rel=0.1)


def test_a_training_with_fewer_and_larger_steps_is_compared_as_a_whole(measured):
    found = measured({"step_s": 0.1, "steps": 40}, {"step_s": 0.2, "steps": 10}).result
    assert found.ratio == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("known", ["epoch_steps", "planned_steps"])
def test_epochs_of_another_number_of_steps_are_compared_in_parts_of_epochs(known):
    marks = tuple((float(n), float(n)) for n in range(1, 60))
    first, second = module._step_marks((epochs(marks, known, 40.0), epochs(marks, known, 10.0)))
    assert first[-1] == (59.0, 59 / 40)
    assert second[-1] == (59.0, 59 / 10)


def test_epochs_that_differ_by_one_step_are_compared_by_steps():
    marks = ((1.0, 1.0), (2.0, 2.0))
    seen = (epochs(marks, "epoch_steps", 40.0), epochs(marks, "epoch_steps", 41.0))
    assert module._step_marks(seen) == [marks, marks]


def test_the_start_counts_where_it_is_what_was_fixed(measured):
    slow, fast = {"first_s": 9.0, "steps": 30}, {"first_s": 3.0, "steps": 30}
    plain = measured(slow, fast).result
    assert plain.ratio == pytest.approx(1.0, rel=0.05)
    counted = measured(slow, fast, scope=Scope.TRAINING).result
    # From the loop's begin on: 4.5 s and 2.9 s of steps, to 1.5 s and 2.9 s.
    assert counted.ratio == pytest.approx((4.5 + 2.9) / (1.5 + 2.9), rel=0.1)


def test_a_short_training_without_enough_steps_is_said(measured):
    found = measured({"steps": 1}, {"steps": 1}).result
    assert (found.ratio, found.why) == (
        None,
        "too few steps to compare within the time there was",
    )


def test_steps_slower_than_the_time_there_is_are_said(measured):
    found = measured({"step_s": 500.0}, {"step_s": 500.0}).result
    assert found.ratio is None
    assert "too few steps" in found.why


def test_equal_scripts_are_equally_fast(measured):
    for number in (0, 1):
        found = measured({"step_s": 0.07}, {"step_s": 0.07}, number=number).result
        assert found.ratio == pytest.approx(1.0, rel=0.02)


# -- turns --------------------------------------------------------------------------------------


def test_every_second_pair_starts_with_the_second_version(measured):
    assert measured({}, {}, number=0).order == "AB"
    assert measured({}, {}, number=1).order == "BA"
    assert measured({}, {}, number=2).order == "AB"


def test_both_are_started_at_once_unless_the_start_counts(measured):
    at_once = measured({}, {}).started_s
    assert at_once[1] - at_once[0] < 0.1
    in_turn = measured({}, {}, scope=Scope.TRAINING).started_s
    assert in_turn[1] - in_turn[0] >= 3.0


def test_they_never_run_at_the_same_time_once_both_are_warm(measured):
    trials = measured({}, {}).trials
    spans = sorted(
        (span[0], span[1]) for trial in trials.values() for span in trial.spans[1:] if span
    )
    assert len(spans) > 6
    assert all(end_s <= next_s for (_, end_s), (next_s, _) in itertools.pairwise(spans))


def test_both_are_let_run_equally_long(measured):
    trials = measured({"step_s": 0.2}, {"step_s": 0.1}).trials
    owns = [OwnTime(trial.spans[1:]).total_s for trial in trials.values()]
    assert owns[0] == pytest.approx(owns[1], abs=0.2)
    assert owns[0] <= LONGEST_S + 1


def test_it_tells_how_far_it_is(measured):
    assert measured({}, {}).told[:2] == ["1 s each", "2 s each"]


def test_without_memory_for_two_they_run_one_after_the_other(measured):
    found = measured({"step_s": 0.2}, {"step_s": 0.1}, in_turns=False)
    assert found.result.ratio == pytest.approx(2.0, rel=0.02)
    first, second = found.trials["A"], found.trials["B"]
    assert first.spans[-1][1] <= second.spans[0][0]
    assert found.is_ended_at_start == [False, True]  # its memory is free for the other one


def test_a_failure_of_one_that_ran_alone_is_named(measured):
    found = measured({}, {"fails_s": 6.0}, in_turns=False).result
    assert found.why == "the edited script ended by SIGKILL"
    leaks = {"bytes_at": lambda own_s: own_s * 3e9}
    found = measured({}, leaks, in_turns=False).result
    assert found.why.endswith("GB of memory, more than is free")


# -- what ends it -------------------------------------------------------------------------------


def test_a_script_that_hangs_before_its_first_step_is_ended_and_named(measured):
    found = measured({}, {"first_s": 1e6}, patience_s=20.0)
    assert found.result == PairResult(
        None,
        "the edited script made no step of training within 20 s",
        took_s=found.result.took_s,
        is_fault_of_second=True,
    )
    assert found.result.took_s < 30


def test_an_original_that_hangs_is_no_fault_of_the_edit(measured):
    found = measured({"first_s": 1e6}, {}, patience_s=20.0).result
    assert found.why.startswith("the original made no step of training")
    assert not found.is_fault_of_second


def test_a_script_that_is_killed_is_named(measured):
    found = measured({}, {"fails_s": 5.0}).result
    assert (found.ratio, found.why) == (None, "the edited script ended by SIGKILL")
    assert found.is_fault_of_second


def test_a_script_that_dies_before_its_first_step_is_named(measured):
    found = measured({}, {"fails_s": 1.0}).result
    assert found.why == "the edited script ended by SIGKILL"
    assert found.took_s < 10


def test_a_script_that_takes_too_much_memory_is_named(measured):
    leaks = {"bytes_at": lambda own_s: own_s * 3e9}
    found = measured({}, leaks).result
    assert found.why.startswith("the edited script took")
    assert found.why.endswith("GB of memory, more than is free")


def test_a_script_that_takes_too_much_before_its_first_step_is_named(measured):
    found = measured({}, {"first_s": 50.0, "bytes_at": lambda own_s: 9.5e9}).result
    assert found.why == "the edited script took 9.5 GB of memory, more than is free"
    assert found.took_s < 10


def test_the_budget_ends_it(measured):
    found = measured({"step_s": 0.1}, {"step_s": 0.1}, budget_s=6.0).result
    assert found.took_s < 10


def test_both_are_over_afterwards(measured):
    assert all(trial.is_ended for trial in measured({}, {}).trials.values())


def test_a_trial_that_recorded_nothing_is_said(measured, monkeypatch):
    monkeypatch.setattr(Trial, "read", lambda self: None)
    assert measured({}, {}).result.why == "no step of training was seen"
