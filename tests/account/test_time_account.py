"""The time account adds up: on runs made for it, and on every run that was kept."""

import tarfile
from pathlib import Path

import pytest

from cut_runs import cut_at, cut_at_step
from fit_runs import many_fits
from hand_runs import COMPILED, FETCH, MAKE_ITERATOR, hand_run
from quickfit.account import loop_account, time_account
from quickfit.recording import reader
from quickfit.signals import Signals
from validation_runs import EVALUATE, by_a_loop, by_fit
from whole_runs import FIT, IMPORT, SAVE, Seen, add_epoch_hook, finish, whole_run

from builders import CALLBACK_LINE, FIT_LINE, MAP_LINE, START_S, recording

RECORDINGS = Path(__file__).parent.parent / "recordings"
KEPT = sorted(path.relative_to(RECORDINGS) for path in RECORDINGS.rglob("*.tar.xz"))
MAX_UNATTRIBUTED = 0.05


def faults_of(root):
    """Return what does not add up in an account."""
    found = []
    if sum(child.seconds for child in root.children) != pytest.approx(root.seconds, rel=0.01):
        found.append(f"the parts of the run are not its {root.seconds:.2f} s")
    for node in root.walk():
        parts_s = sum(child.seconds for child in node.children)
        if parts_s > 1.001 * node.seconds + 1e-6:
            found.append(f"{node.label}: {node.seconds:.3f} s, its parts {parts_s:.3f} s")
        if node.name == "loop" and parts_s != pytest.approx(node.seconds, rel=0.01):
            found.append(f"{node.label}: {node.seconds:.3f} s, its parts {parts_s:.3f} s")
        if not 0 <= node.low_s <= node.seconds + 1e-9 <= node.high_s + 1e-6:
            found.append(f"{node.label}: {node.seconds} outside {node.low_s} to {node.high_s}")
        if node.share != pytest.approx(node.seconds / root.seconds):
            found.append(f"{node.label}: {node.share} is not its share")
    return found


def unattributed_share(root):
    return sum(node.seconds for node in root.walk() if node.name == "unattributed") / root.seconds


def wall_s(signals):
    facts = signals.process.facts
    return facts["ended_s"] - facts["started_s"]


RUNS = {
    "healthy": lambda: whole_run(),
    "input wait": lambda: whole_run(input_wait_s=0.06, map_s=0.09),
    "a slow generator": lambda: whole_run(input="generator", batch_s=0.08, with_model=False),
    "an eager step": lambda: whole_run(eager=True),
    "callbacks": lambda: whole_run(callback_s=0.05, callback_samples=50),
    "a hook of epochs": lambda: whole_run(epoch_hook_s=4.0),
    "traces": lambda: whole_run(traces=[(n, 0.08, f"shape={n}") for n in range(30, 60, 3)]),
    "validation": lambda: by_fit(2.0),
    "one step": lambda: whole_run(steps=1, epochs=1, with_model=False),
    "two steps": lambda: whole_run(steps=2, epochs=1, with_model=False),
    "no steps": lambda: whole_run(steps=0, with_model=False),
    "a hand-written loop": lambda: hand_run(
        "custom", stacks=[((COMPILED,), 30, 60), ((), 31, 40)], call_s=0.06, cpu_s=0.04
    ),
    "a loop that fetches": lambda: hand_run(
        "custom", stacks=[((COMPILED,), 30, 60), ((FETCH,), 32, 40)], call_s=0.05, cpu_s=0.05
    ),
    "two loops": lambda: by_a_loop(),
    "fit in a loop": lambda: many_fits(),
    "fit in a loop that traces": lambda: many_fits(traced_s=0.3, models=True),
    "work around": lambda: whole_run(before=(Seen(8.0, 6),), after=(Seen(4.0, 15),)),
    "a run that goes on": lambda: Signals(cut_at_step(recording(), 40)),
    "a first step that goes on": lambda: Signals(
        cut_at(whole_run(before=(Seen(8.0, 6),), traces=[(0, 0.5, "")]).recording, START_S + 1.0)
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_account_adds_up_for(name):
    root = time_account(RUNS[name]())
    assert faults_of(root) == []
    assert unattributed_share(root) < MAX_UNATTRIBUTED


@pytest.mark.parametrize("name", KEPT, ids=lambda path: str(path).removesuffix(".tar.xz"))
def test_the_account_of_a_kept_run_adds_up(name, tmp_path):
    with tarfile.open(RECORDINGS / name) as archive:
        archive.extractall(tmp_path, filter="data")
    recorded = reader.read(tmp_path / "run.qfrun")
    root = time_account(Signals(recorded))
    assert faults_of(root) == []
    assert unattributed_share(root) < MAX_UNATTRIBUTED
    assert faults_of(time_account(Signals(cut_at_step(recorded, 7)))) == []


def test_the_account_is_the_wall_time_of_the_run():
    signals = whole_run(before=(Seen(8.0, 6),), after=(Seen(4.0, 15),))
    assert time_account(signals).seconds == pytest.approx(wall_s(signals))


def test_work_before_and_after_training_is_told_by_line():
    importing, loading = Seen(4.0, 1, (IMPORT,)), Seen(8.0, 6)
    root = time_account(whole_run(before=(importing, loading), after=(Seen(4.0, 15),)))
    before, after = root.find("before_training"), root.find("after_training")
    assert before.seconds == pytest.approx(12.0)
    assert before.find("imports").seconds == pytest.approx(4.0, rel=0.1)
    assert before.find("line").where.short == "train.py:6"
    assert before.find("line").seconds == pytest.approx(8.0, rel=0.1)
    assert after.find("line").where.short == "train.py:15"


def test_a_save_after_training_is_saving():
    root = time_account(whole_run(after=(Seen(4.0, 15, (SAVE,)),)))
    saving = root.find("after_training").find("saving")
    assert saving.seconds == pytest.approx(4.0)
    assert saving.where.short == "train.py:15"


def test_a_run_without_loops_is_told_by_what_the_script_did():
    signals = whole_run(before=(Seen(10.0, 6),))
    tables = signals.recording.main.tables
    tables |= {"loops": [], "steps": [], "epochs": [], "callbacks": []}
    signals.process.facts["ended_s"] = START_S
    root = time_account(Signals(signals.recording))
    assert [child.name for child in root.children] == ["script"]
    assert root.find("line").where.short == "train.py:6"
    assert faults_of(root) == []


def test_a_fit_without_steps_is_its_set_up():
    loop = loop_account(whole_run(steps=0, with_model=False))
    assert [child.name for child in loop.children] == ["setup"]


def test_every_loop_has_a_node_of_its_own():
    root = time_account(by_a_loop(took_s=0.5))
    assert {node.loop for node in root.children if node.name == "loop"} == {1, 2}


def test_fits_at_one_line_are_one_node_with_the_time_between_them_beside_it():
    root = time_account(many_fits(calls=20, steps=20, step_s=0.01, setup_s=0.05, outside_s=0.1))
    (loop,) = [node for node in root.children if node.name == "loop"]
    assert loop.count == 400
    assert loop.find("setup").seconds == pytest.approx(20 * 0.05, rel=0.05)
    assert root.find("between_loops").seconds == pytest.approx(19 * 0.1, rel=0.05)


def test_validation_and_hooks_of_epochs_are_parts_of_the_loop():
    validated = by_fit(2.0).recording
    finish(validated)
    loop = loop_account(Signals(validated))
    assert loop.find("validation").seconds == pytest.approx(12.0)
    made = recording(callback_samples=0)
    add_epoch_hook(made, 4.0)
    finish(made)
    hooks = loop_account(Signals(made)).find("epoch_callbacks")
    assert hooks.seconds == pytest.approx(12.0)
    assert hooks.children[0].label == "Report.on_epoch_end"


def test_a_hook_at_the_end_of_training_has_its_own_name():
    made = recording()
    add_epoch_hook(made, 0.5)
    made.main.tables["callbacks"][-1] |= {"hook": "on_train_end", "calls": 1}
    finish(made)
    hooks = loop_account(Signals(made)).find("epoch_callbacks")
    assert [child.label for child in hooks.children] == ["Report.on_train_end"]


def test_a_first_step_that_traces_does_not_speak_for_steps_nobody_timed():
    signals = hand_run("custom", stacks=[((COMPILED,), 30, 50), ((), 31, 50)])
    for row in signals.recording.main.tables["steps"]:
        took_s = row["end_s"] - row["begin_s"]
        is_timed = row["step"] <= 20 or row["step"] % 10 == 0
        row["call_s"] = (took_s if row["step"] == 1 else 0.04) if is_timed else None
    loop = loop_account(Signals(signals.recording))
    assert loop.find("between").seconds == pytest.approx(104 * 0.06, rel=0.05)


def test_the_first_trace_of_a_hand_written_loop_is_tracing():
    signals = hand_run("custom", stacks=[((COMPILED,), 30, 50)], call_s=0.09)
    tables = signals.recording.main.tables
    first = tables["steps"][0]
    first["call_s"] = first["end_s"] - first["begin_s"]
    row = {"at_s": START_S + 1.8, "duration_s": 1.5, "name": "train_step", "file": None}
    row |= {"line": None, "caller_file": None, "caller_line": None, "ops": 10, "signature": ""}
    # It ended before the loop was known to be one.
    tables["traces"] = [{**row, "function": 1, "nested": 0, "loop": None, "arguments": None}]
    loop = loop_account(Signals(signals.recording))
    assert loop.find("tracing").seconds == pytest.approx(2.0, rel=0.1)


def test_a_loop_that_saves_is_saving():
    signals = hand_run(
        "custom", stacks=[((COMPILED,), 30, 50)], call_s=0.09, facts={"head": "save"}
    )
    loop = loop_account(signals)
    assert loop.label == "loop that saves"
    assert loop.find("checkpoint").seconds > 0.7 * loop.seconds


def test_thinned_steps_count_with_those_that_are_left():
    made = recording()
    whole = loop_account(Signals(made))
    thinned = recording()
    steps = thinned.main.tables["steps"]
    old, thinned.main.tables["steps"] = steps[:60], steps[60:]
    block = {"loop": 1, "begin_s": old[0]["begin_s"], "end_s": old[-1]["end_s"], "steps": 60}
    thinned.main.tables["step_blocks"] = [block]
    loop = loop_account(Signals(thinned))
    assert (loop.seconds, loop.count) == (pytest.approx(whole.seconds), whole.count)
    assert faults_of(time_account(Signals(thinned))) == []


def test_the_wait_for_input_is_told_by_stage():
    wait = loop_account(whole_run(input_wait_s=0.06, map_s=0.09)).find("input_wait")
    assert wait.children[0].label == "map(decode)"
    assert wait.children[0].where.line == MAP_LINE


def test_a_stage_that_hands_elements_over_is_not_what_the_wait_is_for():
    made = recording(input_wait_s=0.06, map_s=0.02)
    for row in made.main.tables["pipelines"]:
        for node in row["nodes"]:
            if node[1] == "Prefetch":
                node[3] = 0.08 * node[2]
    wait = loop_account(Signals(made)).find("input_wait")
    assert "prefetch" not in [child.label for child in wait.children]


def test_a_callback_is_told_at_its_slowest_line():
    node = loop_account(whole_run(callback_s=0.05, callback_samples=50)).find("callback")
    assert node.label == "Log.on_train_batch_end"
    assert node.where.line == CALLBACK_LINE + 1


def test_the_end_of_fit_is_ending_iterators():
    signals = whole_run(after=(Seen(2.0, FIT_LINE, (FIT,)), Seen(3.0, 15)))
    assert loop_account(signals).find("iterator_ends").seconds == pytest.approx(2.0, abs=0.5)


CALLED = ("/usr/lib/site-packages/keras/src/layers/core/dense.py", "call", 1)
LAYER = ("/usr/lib/site-packages/keras/src/layers/layer.py", "__call__", 1)
RETURNED = ("/usr/lib/site-packages/keras/src/utils/traceback_utils.py", "error_handler", 1)


@pytest.mark.parametrize(
    ("library", "label"),
    [
        ((CALLED, LAYER), "calling the model"),
        ((RETURNED,), "TensorFlow shutting its iterators down"),
        ((("/usr/lib/site-packages/keras/src/layers/layer.py", "build", 1),), "building the model"),
    ],
)
def test_running_a_model_outside_training_is_not_building_it(library, label):
    root = time_account(whole_run(before=(Seen(6.0, 6, library),)))
    assert [node.label for node in root.find("before_training").children] == [label]


@pytest.mark.parametrize(
    ("functions", "label", "detail"),
    [
        ((7, 8), "`multi_step_on_iterator`, 2 functions", "each traced once"),
        ((7, 7), "`multi_step_on_iterator`, traced 2 times", None),
        ((7, 8, 8), "`multi_step_on_iterator`, 2 functions, traced 3 times", None),
        ((7,), "`multi_step_on_iterator`, traced once", None),
    ],
)
def test_only_the_same_function_is_traced_again(functions, label, detail):
    """The train function and the test function of Keras have one name."""
    signals = whole_run(traces=[(number, 0.5, "") for number in range(len(functions))])
    for row, function in zip(signals.process.tables["traces"], functions, strict=True):
        row["function"], row["name"] = function, "multi_step_on_iterator"
    node = time_account(signals).find("traced_function")
    assert node.label == label
    assert detail is None or node.detail == detail


def test_unknown_stacks_around_a_loop_are_python():
    stacks = [((MAKE_ITERATOR, EVALUATE), 12, 10), ((COMPILED,), 30, 90)]
    assert faults_of(time_account(hand_run("custom", stacks=stacks))) == []


def test_a_recording_without_a_clock_has_no_account():
    signals = Signals(recording(facts={"started_s": None}))
    assert time_account(signals) is None
    assert loop_account(signals) is None
