"""A whole answer on machines that are not there: what is raised, and what is shown."""

import io
import os
import signal
from dataclasses import replace

import pytest

from quickfit.errors import ModelError, UsageError
from quickfit.tuning.advice import session as sessions
from quickfit.tuning.advice.change_table import ChangeKind, ChangeVerdict
from quickfit.tuning.advice.request import AdviceWishes
from quickfit.tuning.advice.session import (
    MAX_ROOM,
    AdviceSession,
    EndedBySignal,
    StatusLine,
    device_line,
    ended_by_signals,
    hardware_here,
    room_for,
    run_session,
)
from quickfit.tuning.precision.hardware import Gpu, Hardware
from quickfit.tuning.trials.settings import Setting, TrialFailed, TrialFailure

from tuning.advice.machines import World, faster, out_of_memory

CPU = Hardware(cpu_flags=frozenset({"avx2"}), cpu="AMD EPYC")


def session(world, budget_s=180.0, **more):
    wishes = more.pop("wishes", AdviceWishes())
    return AdviceSession("train:build", world.machine(budget_s), CPU, wishes, **more)


def only(*kinds):
    return AdviceWishes(frozenset(kinds), frozenset(kinds))


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch):
    monkeypatch.setattr(sessions, "whole_cores", lambda: 2)
    monkeypatch.setattr(sessions, "free_memory_bytes", lambda: 24e9)


def test_the_answer_has_all_rows_and_the_best_setting():
    world = World(sample_s=faster(jit=1.4, steps_per_execution=1.3))
    advice = run_session(session(world))
    assert advice.setting == Setting(jit=True, steps_per_execution=32)
    assert advice.chosen.name == "XLA + 32 steps"
    assert advice.chosen.gain.mean == pytest.approx(1.82, rel=0.01)
    rows = {row.name: row for row in advice.rows}
    assert list(rows)[-1] == "XLA + 32 steps"
    assert "no units for 16 bits" in rows["mixed_bfloat16"].reason
    assert advice.baseline.samples_per_s == pytest.approx(1000)
    assert advice.device == "AMD EPYC, 2 cores, no GPU"
    assert advice.took_s == pytest.approx(world.now_s)
    assert not world.open_trials


def test_forced_precision_measures_the_slowdown():
    wishes = AdviceWishes(frozenset({ChangeKind.PRECISION}), frozenset({ChangeKind.PRECISION}))
    world = World(sample_s=faster(policy=0.2))
    advice = run_session(AdviceSession("train:build", world.machine(), CPU, wishes))
    (row,) = advice.rows
    assert row.verdict is ChangeVerdict.SLOWER
    assert row.gain.mean == pytest.approx(0.2)


def test_hardware_that_has_16_bits_gets_them_tried():
    gpu = Hardware(gpus=(Gpu("NVIDIA A100", (8, 0)),))
    world = World(sample_s=faster(policy=1.8))
    advice = run_session(AdviceSession("train:build", world.machine(900), gpu, AdviceWishes()))
    assert advice.setting == Setting(policy="mixed_bfloat16")


def test_an_input_that_is_the_limit_is_found():
    advice = run_session(session(World(sample_s=faster(in_memory=1.8))))
    assert advice.is_input_bound


def test_kept_samples_are_no_input_to_judge():
    world = World(sample_s=faster(in_memory=1.8))
    advice = run_session(session(world, keeps_input=False))
    assert advice.input_gain is None
    assert world.count(Setting(in_memory=True)) == 0
    assert "The input was not measured" in advice.notes[0]


def test_given_settings_are_tried_alone():
    wishes = AdviceWishes(frozenset(), frozenset(), (Setting(batch=48),))
    world = World(sample_s=faster(batch=1.5))
    advice = run_session(AdviceSession("train:build", world.machine(), CPU, wishes))
    assert [row.name for row in advice.rows] == ["batch 48"]
    assert advice.lines[0].startswith("dataset = dataset.batch(48)")


@pytest.mark.parametrize("at_s", [5.0, 20.0, 30.0, 36.0])
def test_ctrl_c_leaves_the_table_as_it_is_by_then(at_s):
    world = World(sample_s=faster(jit=1.4), interrupt_at_s=at_s)
    advice = run_session(session(world))
    assert advice.is_interrupted
    assert len(advice.rows) == 8
    assert not any("the budget was over" in row.reason for row in advice.rows)
    assert any("interrupted" in row.reason for row in advice.rows)
    assert not world.open_trials
    assert "Interrupted" in repr(advice)


def test_ctrl_c_in_the_first_round_keeps_the_turns_that_are_over():
    world = World(sample_s=faster(jit=1.4))
    world.interrupt_at_s = 28.0
    advice = run_session(session(world))
    assert any("measuring in turns, 2 of 3" in line for line in world.told)
    assert not any("round 2" in line for line in world.told)
    xla = advice.rows[0]
    assert xla.gain.mean == pytest.approx(1.4)
    assert (xla.verdict, xla.reason) == (
        ChangeVerdict.NOT_DECIDED,
        "measured once only: interrupted",
    )
    assert advice.baseline.samples_per_s == pytest.approx(1000)


def test_ctrl_c_while_the_first_ones_start_claims_nothing():
    advice = run_session(session(World(interrupt_at_s=8.0)))
    assert advice.baseline.samples_per_s == pytest.approx(1000)
    assert "Nothing was measured beside your training" in repr(advice)
    assert "Nothing to change" not in repr(advice)


def test_ctrl_c_before_anything_is_known_is_passed_on():
    world = World(interrupt_at_s=1.0)
    with pytest.raises(KeyboardInterrupt):
        run_session(session(world))
    assert not world.open_trials


def test_a_training_that_fails_is_told_with_its_own_traceback():
    trace = 'Traceback (most recent call last):\n  File "train.py", line 3\nValueError: shapes'
    world = World(fails=lambda setting: TrialFailed(TrialFailure.ERROR, trace))
    with pytest.raises(ModelError) as caught:
        run_session(session(world))
    assert str(caught.value).startswith("train:build: the training as it is ended with an error:\n")
    assert "ValueError: shapes" in str(caught.value)


def test_a_training_that_cannot_be_tried_is_told_in_our_words():
    world = World(fails=lambda setting: out_of_memory())
    with pytest.raises(ModelError, match=r"does not run \(out of memory\):\nthe kernel"):
        run_session(session(world))


def test_a_function_that_gives_no_training_is_told_in_our_words():
    world = World(fails=lambda setting: TrialFailed(TrialFailure.ERROR, "it returned None."))
    with pytest.raises(ModelError, match=r"^train:build cannot be tried:\nit returned None"):
        run_session(session(world))


def test_a_training_that_fails_in_its_first_block_is_told_too():
    world = World(fails_in_block=lambda setting: out_of_memory() if setting == Setting() else None)
    with pytest.raises(ModelError, match="out of memory"):
        run_session(session(world))
    assert not world.open_trials


def test_a_budget_that_ends_before_the_start_is_told():
    world = World(start_s=40.0)
    with pytest.raises(UsageError, match=r"budget of 30 s was over before.*\nGive more"):
        run_session(session(world, 30.0))


def test_a_budget_that_is_too_small_says_what_is_needed():
    world = World(start_s=8.0)
    with pytest.raises(UsageError) as caught:
        run_session(session(world, 30.0, keeps_input=False))
    assert "a budget of 30 s is too small for it. Starting it took 8.4 s" in str(caught.value)
    needed = int(str(caught.value).rpartition("budget_s=")[2])
    advice = run_session(session(World(start_s=8.0), needed, keeps_input=False))
    assert all("budget" not in row.reason for row in advice.rows)


def test_the_time_that_is_needed_is_that_of_what_was_asked_for():
    found = {}
    for wishes in (only(ChangeKind.XLA), AdviceWishes()):
        few = session(World(start_s=8.0), 30.0, wishes=wishes, keeps_input=False)
        with pytest.raises(UsageError) as caught:
            run_session(few)
        found[wishes] = int(str(caught.value).rpartition("budget_s=")[2])
    assert found[only(ChangeKind.XLA)] < found[AdviceWishes()] / 2
    assert (
        run_session(
            session(
                World(start_s=8.0),
                found[only(ChangeKind.XLA)],
                wishes=only(ChangeKind.XLA),
                keeps_input=False,
            )
        )
        .rows[0]
        .gain
    )


def test_on_the_command_line_the_option_is_named():
    with pytest.raises(UsageError, match=r"Give more:\n    quickfit tune --budget \d+[ms] \S+$"):
        run_session(session(World(start_s=8.0), 30.0, is_command=True))


@pytest.mark.parametrize(
    ("is_command", "words"), [(True, "--try precision"), (False, 'settings=["precision"]')]
)
def test_what_the_machine_speaks_against_can_be_asked_for_where_one_is(is_command, words):
    asked = AdviceWishes(frozenset({ChangeKind.XLA, ChangeKind.PRECISION}))
    machine = World().machine()
    advice = run_session(AdviceSession("train:build", machine, CPU, asked, is_command=is_command))
    [row] = [one for one in advice.rows if one.kind is ChangeKind.PRECISION]
    assert row.reason.endswith(f"{words} measures it all the same")


def test_where_nothing_can_be_tried_it_ends_at_once():
    world = World(samples=20, batch=20)
    advice = run_session(session(world, wishes=only(ChangeKind.BATCH, ChangeKind.STEPS)))
    assert len(world.made) == 1
    assert {row.verdict for row in advice.rows} == {ChangeVerdict.NOT_TRIED}
    assert advice.baseline.samples_per_s == pytest.approx(1000)
    assert not world.open_trials


def test_where_epochs_are_so_short_nothing_is_said_of_the_input():
    world = World(sample_s=faster(in_memory=40.0), samples=20, batch=20, epoch_s=0.1)
    advice = run_session(session(world))
    assert not advice.is_input_bound
    assert world.count(Setting(in_memory=True)) == 0
    assert advice.notes[0].startswith("An epoch has only 1 step: most of the time goes to")


def test_what_a_model_has_already_is_not_tried():
    world = World()
    advice = run_session(session(world, own=Setting(jit=True), wishes=only(ChangeKind.XLA)))
    assert advice.rows[0].reason == "your training has it already"
    assert len(world.made) == 1


def test_a_budget_that_decides_what_was_left_open_is_told():
    world = World(sample_s=faster(jit=1.5, steps_per_execution=1.4), start_s=4.0)
    world.fails = lambda s: out_of_memory() if s.is_as_it_was and world.now_s > 40 else None
    advice = run_session(session(world))
    assert advice.undecided
    assert advice.deciding_budget_s > 180.0
    assert advice.as_json()["deciding_budget_s"] == advice.deciding_budget_s


def test_no_room_for_a_second_training_is_told(monkeypatch):
    monkeypatch.setattr(sessions, "free_memory_bytes", lambda: 0.3e9)
    with pytest.raises(ModelError, match=r"takes 500 MB, and only 300 MB are free"):
        run_session(session(World()))


def test_a_busy_machine_is_mentioned():
    world = World()
    machine = world.machine(busy_s=lambda: 3 * world.now_s)
    advice = run_session(AdviceSession("train:build", machine, CPU, AdviceWishes()))
    assert "other programs kept 1.5 of 2 cores busy" in advice.notes[0]


GPU = Hardware(gpus=(Gpu("NVIDIA T4", (7, 5)),))


def test_the_line_names_what_trains():
    assert device_line(CPU, 2) == "AMD EPYC, 2 cores, no GPU"
    assert device_line(CPU, 1) == "AMD EPYC, 1 core, no GPU"
    assert device_line(GPU, 8) == "NVIDIA T4 (compute capability 7.5); 8 cores"


@pytest.mark.parametrize(
    ("peak", "free", "room"),
    [(1e9, 24e9, 13), (1e9, 2e9, 2), (4e9, 5e9, 1), (1e6, 64e9, MAX_ROOM), (0, 64e9, MAX_ROOM)],
)
def test_memory_limits_how_many_run_at_once(peak, free, room):
    assert room_for(peak, CPU, free) == room


def test_a_gpu_holds_two():
    assert room_for(1e9, GPU, 64e9) == 2


def test_this_machine_has_a_name():
    assert hardware_here().device


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_text_takes_the_place_of_the_one_before():
    stream = Terminal()
    line = StatusLine(stream)
    line.tell("round 1 of 3")
    line.tell("done")
    assert stream.getvalue() == "\rquickfit: round 1 of 3\rquickfit: done        "


def test_in_the_end_it_is_gone():
    stream = Terminal()
    line = StatusLine(stream)
    line.tell("x")
    line.clear()
    line.clear()
    assert stream.getvalue() == "\rquickfit: x\r           \r"


def test_a_line_never_wraps():
    stream = Terminal()
    StatusLine(stream).tell("x" * 500)
    assert len(stream.getvalue()) == 100


def test_a_log_file_and_a_closed_stderr_get_nothing():
    stream = io.StringIO()
    for line in (StatusLine(stream), StatusLine(None)):
        line.tell("x")
        line.clear()
    assert not stream.getvalue()


def test_a_notebook_is_watched_too():
    Notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})  # noqa: N806
    stream = Notebook()
    StatusLine(stream).tell("x")
    assert stream.getvalue() == "\rquickfit: x"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_an_exception_and_a_second_one_is_ignored(number):
    cleaned = []
    before = signal.getsignal(number)

    def work():
        with ended_by_signals():
            try:
                os.kill(os.getpid(), number)
            finally:
                os.kill(os.getpid(), number)
                cleaned.append(True)

    with pytest.raises(EndedBySignal) as caught:
        work()
    assert caught.value.number == number
    assert cleaned
    assert signal.getsignal(number) is before


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_no_except_exception_keeps_it():
    assert not issubclass(EndedBySignal, Exception)


def test_a_budget_that_may_not_decide_everything_is_said_at_the_start():
    world, said = World(start_s=8.0), []
    machine = replace(world.machine(120.0), warn=said.append)
    run_session(AdviceSession("train:build", machine, CPU, AdviceWishes(), is_command=True))
    assert "train:build: 2 min 0 s may not decide all 8 changes" in said[0]
    assert "--budget" in said[0]
