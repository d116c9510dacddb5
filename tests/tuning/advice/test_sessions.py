"""A whole answer on machines that are not there: what is raised, and what is shown."""

import pytest

from quickfit.errors import ModelError, UsageError
from quickfit.tuning.advice import sessions
from quickfit.tuning.advice.rows import Kind, Verdict
from quickfit.tuning.advice.sessions import Session, measured
from quickfit.tuning.advice.wishes import Wishes
from quickfit.tuning.precision.hardware import Gpu, Hardware
from quickfit.tuning.trials.answers import Failure, TrialFailed
from quickfit.tuning.trials.settings import Setting

from tuning.advice.machines import World, faster, out_of_memory

CPU = Hardware(cpu_flags=frozenset({"avx2"}), cpu="AMD EPYC")


def session(world, budget_s=180.0, **more):
    wishes = more.pop("wishes", Wishes())
    return Session("train:build", world.machine(budget_s), CPU, wishes, **more)


def only(*kinds):
    return Wishes(frozenset(kinds), frozenset(kinds))


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch):
    monkeypatch.setattr(sessions, "whole_cores", lambda: 2)
    monkeypatch.setattr(sessions, "free_memory_bytes", lambda: 24e9)


def test_the_answer_has_all_rows_and_the_best_setting():
    world = World(sample_s=faster(jit=1.4, steps_per_execution=1.3))
    advice = measured(session(world))
    assert advice.setting == Setting(jit=True, steps_per_execution=32)
    assert advice.chosen.name == "XLA + 32 steps"
    assert advice.chosen.gain.mean == pytest.approx(1.82, rel=0.01)
    assert [row.name for row in advice.rows][-1] == "mixed_bfloat16"
    assert "no units for 16 bits" in advice.rows[-1].reason
    assert advice.baseline.samples_per_s == pytest.approx(1000)
    assert advice.device == "AMD EPYC, 2 cores, no GPU"
    assert advice.took_s == pytest.approx(world.now_s)
    assert not world.open_trials


def test_forced_precision_measures_the_slowdown():
    wishes = Wishes(frozenset({Kind.PRECISION}), frozenset({Kind.PRECISION}))
    world = World(sample_s=faster(policy=0.2))
    advice = measured(Session("train:build", world.machine(), CPU, wishes))
    (row,) = advice.rows
    assert row.verdict is Verdict.SLOWER
    assert row.gain.mean == pytest.approx(0.2)


def test_hardware_that_has_16_bits_gets_them_tried():
    gpu = Hardware(gpus=(Gpu("NVIDIA A100", (8, 0)),))
    world = World(sample_s=faster(policy=1.8))
    advice = measured(Session("train:build", world.machine(900), gpu, Wishes()))
    assert advice.setting == Setting(policy="mixed_bfloat16")


def test_an_input_that_is_the_limit_is_found():
    advice = measured(session(World(sample_s=faster(in_memory=1.8))))
    assert advice.is_input_bound


def test_kept_samples_are_no_input_to_judge():
    world = World(sample_s=faster(in_memory=1.8))
    advice = measured(session(world, keeps_input=False))
    assert advice.input_gain is None
    assert world.count(Setting(in_memory=True)) == 0
    assert "The input was not measured" in advice.notes[0]


def test_given_settings_are_tried_alone():
    wishes = Wishes(frozenset(), frozenset(), (Setting(batch=48),))
    world = World(sample_s=faster(batch=1.5))
    advice = measured(Session("train:build", world.machine(), CPU, wishes))
    assert [row.name for row in advice.rows] == ["batch 48"]
    assert advice.lines[0].startswith("dataset = dataset.batch(48)")


@pytest.mark.parametrize("at_s", [5.0, 20.0, 30.0, 45.0])
def test_ctrl_c_leaves_the_table_as_it_is_by_then(at_s):
    world = World(sample_s=faster(jit=1.4), interrupt_at_s=at_s)
    advice = measured(session(world))
    assert advice.is_interrupted
    assert len(advice.rows) == 8
    assert not any("the budget was over" in row.reason for row in advice.rows)
    assert any("interrupted" in row.reason for row in advice.rows)
    assert not world.open_trials
    assert "Interrupted" in repr(advice)


def test_ctrl_c_in_the_first_round_keeps_the_turns_that_are_over():
    world = World(sample_s=faster(jit=1.4))
    world.interrupt_at_s = 28.0
    advice = measured(session(world))
    assert any("measuring in turns, 2 of 3" in line for line in world.told)
    assert not any("round 2" in line for line in world.told)
    xla = advice.rows[0]
    assert xla.gain.mean == pytest.approx(1.4)
    assert (xla.verdict, xla.reason) == (Verdict.NOT_DECIDED, "measured once only: interrupted")
    assert advice.baseline.samples_per_s == pytest.approx(1000)


def test_ctrl_c_while_the_first_ones_start_claims_nothing():
    advice = measured(session(World(interrupt_at_s=8.0)))
    assert advice.baseline.samples_per_s == pytest.approx(1000)
    assert "Nothing was measured beside your training" in repr(advice)
    assert "Nothing to change" not in repr(advice)


def test_ctrl_c_before_anything_is_known_is_passed_on():
    world = World(interrupt_at_s=1.0)
    with pytest.raises(KeyboardInterrupt):
        measured(session(world))
    assert not world.open_trials


def test_a_training_that_fails_is_told_with_its_own_traceback():
    trace = 'Traceback (most recent call last):\n  File "train.py", line 3\nValueError: shapes'
    world = World(fails=lambda setting: TrialFailed(Failure.ERROR, trace))
    with pytest.raises(ModelError) as caught:
        measured(session(world))
    assert str(caught.value).startswith("train:build: the training as it is ended with an error:\n")
    assert "ValueError: shapes" in str(caught.value)


def test_a_training_that_cannot_be_tried_is_told_in_our_words():
    world = World(fails=lambda setting: out_of_memory())
    with pytest.raises(ModelError, match=r"does not run \(out of memory\):\nthe kernel"):
        measured(session(world))


def test_a_function_that_gives_no_training_is_told_in_our_words():
    world = World(fails=lambda setting: TrialFailed(Failure.ERROR, "it returned None."))
    with pytest.raises(ModelError, match=r"^train:build cannot be tried:\nit returned None"):
        measured(session(world))


def test_a_training_that_fails_in_its_first_block_is_told_too():
    world = World(fails_in_block=lambda setting: out_of_memory() if setting == Setting() else None)
    with pytest.raises(ModelError, match="out of memory"):
        measured(session(world))
    assert not world.open_trials


def test_a_budget_that_ends_before_the_start_is_told():
    world = World(start_s=40.0)
    with pytest.raises(UsageError, match=r"budget of 30 s was over before.*\nGive more"):
        measured(session(world, 30.0))


def test_a_budget_that_is_too_small_says_what_is_needed():
    world = World(start_s=8.0)
    with pytest.raises(UsageError) as caught:
        measured(session(world, 30.0, keeps_input=False))
    assert "a budget of 30 s is too small for it. Starting it took 8.4 s" in str(caught.value)
    needed = int(str(caught.value).rpartition("budget_s=")[2])
    advice = measured(session(World(start_s=8.0), needed, keeps_input=False))
    assert all("budget" not in row.reason for row in advice.rows)


def test_the_time_that_is_needed_is_that_of_what_was_asked_for():
    found = {}
    for wishes in (only(Kind.XLA), Wishes()):
        few = session(World(start_s=8.0), 30.0, wishes=wishes, keeps_input=False)
        with pytest.raises(UsageError) as caught:
            measured(few)
        found[wishes] = int(str(caught.value).rpartition("budget_s=")[2])
    assert found[only(Kind.XLA)] < found[Wishes()] / 2
    assert (
        measured(
            session(
                World(start_s=8.0), found[only(Kind.XLA)], wishes=only(Kind.XLA), keeps_input=False
            )
        )
        .rows[0]
        .gain
    )


def test_on_the_command_line_the_option_is_named():
    with pytest.raises(UsageError, match=r"Give more: --budget \d+[ms]$"):
        measured(session(World(start_s=8.0), 30.0, is_command=True))


@pytest.mark.parametrize(
    ("is_command", "words"), [(True, "--try precision"), (False, 'settings=["precision"]')]
)
def test_what_the_machine_speaks_against_can_be_asked_for_where_one_is(is_command, words):
    asked = Wishes(frozenset({Kind.XLA, Kind.PRECISION}))
    machine = World().machine()
    advice = measured(Session("train:build", machine, CPU, asked, is_command=is_command))
    [row] = [one for one in advice.rows if one.kind is Kind.PRECISION]
    assert row.reason.endswith(f"{words} measures it all the same")


def test_where_nothing_can_be_tried_it_ends_at_once():
    world = World(samples=20, batch=20)
    advice = measured(session(world, wishes=only(Kind.BATCH, Kind.STEPS)))
    assert len(world.made) == 1
    assert {row.verdict for row in advice.rows} == {Verdict.NOT_TRIED}
    assert advice.baseline.samples_per_s == pytest.approx(1000)
    assert not world.open_trials


def test_where_epochs_are_so_short_nothing_is_said_of_the_input():
    world = World(sample_s=faster(in_memory=40.0), samples=20, batch=20, epoch_s=0.1)
    advice = measured(session(world))
    assert not advice.is_input_bound
    assert world.count(Setting(in_memory=True)) == 0
    assert advice.notes[0].startswith("An epoch has only 1 step: most of the time goes to")


def test_what_a_model_has_already_is_not_tried():
    world = World()
    advice = measured(session(world, own=Setting(jit=True), wishes=only(Kind.XLA)))
    assert advice.rows[0].reason == "your training has it already"
    assert len(world.made) == 1


def test_a_budget_that_decides_what_was_left_open_is_told():
    world = World(sample_s=faster(jit=1.5, steps_per_execution=1.4), start_s=4.0)
    world.fails = lambda s: out_of_memory() if s.is_as_it_was and world.now_s > 40 else None
    advice = measured(session(world))
    assert advice.undecided
    assert advice.deciding_budget_s > 180.0
    assert advice.as_json()["deciding_budget_s"] == advice.deciding_budget_s


def test_no_room_for_a_second_training_is_told(monkeypatch):
    monkeypatch.setattr(sessions, "free_memory_bytes", lambda: 0.3e9)
    with pytest.raises(ModelError, match=r"takes 500 MB, and only 300 MB are free"):
        measured(session(World()))


def test_a_busy_machine_is_mentioned():
    world = World()
    machine = world.machine(busy_s=lambda: 3 * world.now_s)
    advice = measured(Session("train:build", machine, CPU, Wishes()))
    assert "other programs kept 1.5 of 2 cores busy" in advice.notes[0]
