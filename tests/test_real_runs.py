"""Real scripts on real TensorFlow: what the user sees stays the same, what is recorded is right."""

import hashlib
import os
import re
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from quickfit.errors import RecordingError
from quickfit.launch.reactions import UNANSWERED_S
from quickfit.recording import reader
from quickfit.recording.folder import read_run_file

from launch.sessions import (
    QUICKFIT,
    Terminal,
    clean_env,
    eventually,
    is_alive,
    newest_run,
    of_the_script,
    pid_in,
    python,
    quickfit,
)

pytestmark = pytest.mark.tf

SCRIPTS = Path(__file__).parent / "scripts"
# One line of TensorFlow's log carries a time and a process number; this keeps it away.
ENV = clean_env(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
PROBES = {
    *("fit_loop", "tf_data", "py_input", "py_functions", "retracing", "devices"),
    *("stacks", "machine", "memory", "eager_ops", "callbacks", "calls", "silence", "raising"),
    "holders",
}


def line_of(script, mark):
    """Return the number of the line of a script that is marked `# line: MARK`."""
    lines = (SCRIPTS / script).read_text().splitlines()
    (number,) = [n for n, text in enumerate(lines, 1) if text.endswith(f"# line: {mark}")]
    return number


def place(script, mark):
    """Return file and line of a mark, as a recording has them."""
    return str(SCRIPTS / script), line_of(script, mark)


def watch(folder, script, *options):
    """Run a script under quickfit in `folder`; return how it ended and what was recorded."""
    done = quickfit(folder, "run", *options, str(SCRIPTS / script), env=ENV)
    return SimpleNamespace(done=done, recording=reader.read(newest_run(folder)), folder=folder)


def watched_once(script):
    """Return a fixture that runs a script under quickfit once for all tests of this file."""

    @pytest.fixture(scope="module")
    def run(tmp_path_factory):
        return watch(tmp_path_factory.mktemp(script), script)

    return run


losses = watched_once("same_losses.py")
inputs = watched_once("inputs.py")
ways = watched_once("ways_to_fit.py")


def rows(run, table):
    """Return the rows the script's own process recorded."""
    return run.recording.main.rows(table)


def steps_of(run):
    """Return the number of steps per loop."""
    found = [row["loop"] for row in rows(run, "steps")]
    return {row["id"]: found.count(row["id"]) for row in rows(run, "loops")}


def without_addresses(stderr):
    """Return what a script wrote to stderr without what differs from run to run."""
    text = of_the_script(stderr).decode()
    text = re.sub(r"__autograph_generated_file\w+", "GENERATED", text)
    text = re.sub(r"(__inference_\w+?)_\d+", r"\1_N", text)
    return re.sub(r"0x[0-9a-f]+", "ADDRESS", text)


# What the user sees


def test_the_same_seed_gives_the_same_bits_with_and_without_quickfit(losses, tmp_path):
    plain = python(tmp_path, str(SCRIPTS / "same_losses.py"), env=ENV)
    assert plain.stdout.count(b"0x") == 11
    assert losses.done.stdout == plain.stdout
    assert losses.done.returncode == plain.returncode == 0
    assert of_the_script(losses.done.stderr) == plain.stderr


@pytest.mark.tf_any
def test_tracebacks_are_those_of_the_script_alone(tmp_path):
    plain = python(tmp_path, str(SCRIPTS / "raises.py"), env=ENV)
    watched = quickfit(tmp_path, "run", str(SCRIPTS / "raises.py"), env=ENV)
    assert plain.stderr.count(b"Traceback (most recent call last)") > 35
    assert without_addresses(watched.stderr) == without_addresses(plain.stderr)
    assert b"quickfit" not in of_the_script(watched.stderr)
    assert watched.returncode == plain.returncode == 1


def test_the_tracebacks_of_eager_operations_are_those_of_the_script_alone(tmp_path):
    watched = watch(tmp_path, "eager_errors.py")
    assert [row["loop"] for row in rows(watched, "eager_ops")] == [1], "no operations were timed"
    assert watched.done.stdout.startswith(b"4\n")
    assert b"quickfit" not in watched.done.stdout


# What is recorded


def test_every_probe_is_active(losses):
    states = {row["name"]: (row["state"], row["detail"]) for row in rows(losses, "probes")}
    assert states == dict.fromkeys(PROBES, ("active", ""))


@pytest.mark.tf_any
def test_every_name_the_probes_use_is_there(tmp_path):
    done = python(tmp_path, str(SCRIPTS / "private_names.py"), env=ENV)
    assert (done.stdout.decode(), done.returncode) == ("", 0), done.stderr.decode()[-2000:]


def test_each_fit_is_a_loop_with_its_line_and_its_kind_of_input(losses):
    found = [(row["file"], row["line"], row["facts"]["input"]) for row in rows(losses, "loops")]
    kinds = ("arrays", "tf.data", "generator")
    assert found == [(*place("same_losses.py", kind), kind) for kind in kinds]
    assert all(row["entered_s"] <= row["begin_s"] for row in rows(losses, "loops"))
    assert all(row["first_step_s"] < row["end_s"] for row in rows(losses, "loops"))


def test_every_step_and_epoch_is_counted_once(losses):
    assert steps_of(losses) == {1: 48, 2: 48, 3: 48}
    epochs = [(row["loop"], row["epoch"]) for row in rows(losses, "epochs")]
    assert epochs == [(loop, epoch) for loop in (1, 2, 3) for epoch in (1, 2)]


def test_only_the_fit_with_validation_data_has_validation_time(losses):
    spent = [row["validation_s"] > 0 for row in rows(losses, "epochs")]
    assert spent == [True, True, False, False, False, False]


def test_the_facts_of_a_fit_are_recorded(losses):
    facts = rows(losses, "loops")[0]["facts"]
    expected = {"batch_size": 8, "run_eagerly": False, "steps": 24, "epochs": 2}
    expected |= {"steps_per_execution": 1, "optimizer": "Adam", "parameters": 12 * 16 + 16 + 17}
    assert expected.items() <= facts.items()
    assert (facts["compile_file"], facts["compile_line"]) == place("same_losses.py", "compile")


def test_the_pipeline_of_every_fit_has_a_model(losses):
    loop_of = {row["id"]: row["loop"] for row in rows(losses, "iterators")}
    assert {loop_of[row["iterator"]] for row in rows(losses, "pipelines")} == {1, 2, 3}
    assert {row["phase"] for row in rows(losses, "iterators")} <= {"train", "validation"}


def test_every_operation_of_a_chain_has_its_own_line(losses):
    text = (SCRIPTS / "pipelines.py").read_text().splitlines()
    mine = [row for row in rows(losses, "datasets") if row["file"] == str(SCRIPTS / "pipelines.py")]
    written = {row["kind"]: text[row["line"] - 1].strip().partition("(")[0] for row in mine}
    assert written == {
        "TensorSlice": "tf.data.Dataset.from_tensor_slices",
        "Shuffle": ".shuffle",
        "Map": ".map",
        "Batch": ".batch",
    }
    (mapped,) = [row["facts"] for row in mine if row["kind"] == "Map"]
    assert mapped["function"] == "scaled"
    assert text[mapped["function_line"] - 1] == "def scaled(x, y):"
    assert (mapped["runs_python"], mapped["is_stateful"]) == (False, True)


def test_a_generator_is_timed(losses):
    last = rows(losses, "py_inputs")[-1]
    assert (last["kind"], last["name"], last["workers"]) == ("generator", "batches", 1)
    assert (last["file"], last["line"]) == place("same_losses.py", "batches")
    # Those that `fit` used, and a few that were made ahead.
    assert 48 <= last["batches"] < 80
    assert last["loop"] == 3


def test_callbacks_have_their_name_line_and_time(losses):
    slow = [
        (row["loop"], row["file"], row["line"], row["calls"], row["wall_s"] > 48 * 0.03)
        for row in rows(losses, "callbacks")
        if (row["name"], row["hook"]) == ("Slow", "on_train_batch_end")
    ]
    where = place("same_losses.py", "Slow")
    assert slow == [(loop, *where, 48, True) for loop in (1, 2, 3)]


def test_the_train_function_is_traced_once_per_fit(losses):
    begins = {row["id"]: row["line"] for row in rows(losses, "loops")}
    traces = [
        (row["loop"], row["caller_line"])
        for row in rows(losses, "traces")
        if row["loop"] and not row["nested"] and row["ops"] == 23
    ]
    assert traces == list(begins.items())


def test_devices_are_recorded(losses):
    facts = losses.recording.main.facts
    assert ["CPU", "/physical_device:CPU:0"] in facts["tensorflow_devices"]
    assert facts["tensorflow_version"].startswith("2.")
    assert facts["keras_backend"] == "tensorflow"
    assert isinstance(facts["machine_accelerators"], list)
    asked = [(row["device"], row["file"], row["line"]) for row in rows(losses, "device_requests")]
    assert asked == [("/GPU:0", *place("same_losses.py", "device"))]


def test_the_text_of_every_file_a_line_points_at_is_stored(losses):
    stored = {row["file"]: (row["text"], row["sha256"]) for row in rows(losses, "sources")}
    for name in ("same_losses.py", "pipelines.py"):
        data = (SCRIPTS / name).read_bytes()
        assert stored[str(SCRIPTS / name)] == (data.decode(), hashlib.sha256(data).hexdigest())
    assert all(Path(file).parent == SCRIPTS for file in stored)


def test_stacks_of_the_main_thread_name_the_line_that_sleeps(losses):
    frames = {row["id"]: row for row in rows(losses, "frames")}
    main = [row["frames"] for row in rows(losses, "stacks") if row["role"] == "main"]
    inner = {(frames[stack[0]]["file"], frames[stack[0]]["line"]) for stack in main if stack}
    file, line = place("same_losses.py", "Slow")
    assert (file, line + 1) in inner


def test_a_pydataset_is_timed_with_its_workers(inputs):
    last = {row["id"]: row for row in rows(inputs, "py_inputs")}
    where = place("inputs.py", "getitem")
    found = [
        (row["kind"], row["workers"], row["batches"], row["busy"], row["loop"])
        for row in last.values()
    ]
    assert found == [
        ("pydataset", 1, 40, 0, 1),
        ("pydataset", 2, 120, 0, 2),
        ("pydataset-processes", 2, 40, 0, 3),
    ]
    assert {(row["name"], row["file"], row["line"]) for row in last.values()} == {
        ("Batches", *where)
    }


def test_fits_on_a_pydataset_are_recorded(inputs):
    assert inputs.done.stdout == b"2\n1\n2\n"
    assert steps_of(inputs) == {1: 40, 2: 120, 3: 40}
    assert {row["line"] for row in rows(inputs, "loops")} == {line_of("inputs.py", "fit")}
    assert {row["facts"]["input"] for row in rows(inputs, "loops")} == {"pydataset"}


def test_a_pipeline_without_a_model_is_noted(inputs):
    """Keras turns autotune off for workers, and with it the model."""
    loop_of = {row["id"]: row["loop"] for row in rows(inputs, "iterators")}
    assert {loop_of[row["iterator"]] for row in rows(inputs, "pipelines")} == {1}
    assert {row["text"] for row in rows(inputs, "notes")} == {"no pipeline model: autotune is off"}


def test_worker_processes_have_recordings_of_their_own(inputs):
    assert len(inputs.recording.others) >= 2
    assert inputs.recording.problems == []
    assert not any(process.rows("loops") for process in inputs.recording.others)


@pytest.mark.tf_any
@pytest.mark.parametrize(
    ("mark", "steps", "epochs", "ended"),
    [
        ("first", 5, 1, True),
        ("second", 20, 2, True),
        ("thread", 5, 1, True),
        # Ten batches of an epoch in three calls of the train function.
        ("four at once", 6, 2, True),
        ("validation", 10, 2, True),
        ("super", 5, 1, True),
        ("outer", 10, 2, True),
        ("interrupted", 3, 0, False),
    ],
)
def test_a_fit_is_recorded(ways, mark, steps, epochs, ended):
    line = line_of("ways_to_fit.py", mark)
    (loop,) = [row for row in rows(ways, "loops") if row["line"] == line]
    assert steps_of(ways)[loop["id"]] == steps
    assert [row["loop"] for row in rows(ways, "epochs")].count(loop["id"]) == epochs
    assert (loop["end_s"] is not None) == ended


@pytest.mark.tf_any
def test_the_thread_of_a_fit_is_told_apart(ways):
    threads = {row["line"]: row["thread"] for row in rows(ways, "loops")}
    assert (
        threads[line_of("ways_to_fit.py", "thread")] != threads[line_of("ways_to_fit.py", "first")]
    )


@pytest.mark.tf_any
def test_a_fit_inside_a_callback_counts_as_time_of_that_callback(ways):
    lines = [row["line"] for row in rows(ways, "loops")]
    assert lines.count(line_of("ways_to_fit.py", "nested")) == 2
    outer = lines.index(line_of("ways_to_fit.py", "outer")) + 1
    (spent,) = [
        row
        for row in rows(ways, "callbacks")
        if (row["loop"], row["hook"], row["name"]) == (outer, "on_epoch_end", "InsideEpoch")
    ]
    assert spent["calls"] == 2
    nested = [
        row for row in rows(ways, "loops") if row["line"] == line_of("ways_to_fit.py", "nested")
    ]
    assert spent["wall_s"] > sum(row["end_s"] - row["begin_s"] for row in nested)


@pytest.mark.tf_any
def test_a_script_goes_on_after_an_interrupted_fit(ways):
    assert (ways.done.stdout, ways.done.returncode) == (b"interrupted\n40\n", 0)
    assert b"\nverdict " in ways.done.stderr


def test_python_in_the_graph_of_a_step_is_timed_and_a_datasets_is_not(tmp_path):
    plain = python(tmp_path, str(SCRIPTS / "step_python.py"), env=ENV)
    watched = watch(tmp_path, "step_python.py")
    # The message of TensorFlow has the traceback of the function that failed in it.
    texts = [re.sub(rb"_\d+\]", b"]", done.stdout) for done in (plain, watched.done)]
    assert texts[0] == texts[1]
    assert b"too large" in texts[0]
    found = {
        (row["call_line"], row["graph"]): row
        for row in rows(watched, "py_functions")
        if row["calls"]
    }
    lines = {mark: line_of("step_python.py", mark) for mark in ("loss", "distance", "loop")}
    assert {line for line, _ in found} == {*lines.values(), line_of("step_python.py", "function")}
    train, test = found[lines["loss"], "train_step"], found[lines["loss"], "test_step"]
    assert (train["calls"], test["calls"]) == (12, 12)
    # Its gradient is Python, too: one more call per step.
    assert found[lines["distance"], "train_step"]["calls"] == 24
    assert found[lines["loop"], "epoch"]["calls"] == 4
    assert train["name"] == "weigh"
    assert 0 < train["longest_s"] <= train["wall_s"]


# How a run ends


@pytest.mark.tf_any
def test_a_run_ends_after_the_steps_it_was_given_and_nothing_after_the_loop_runs(tmp_path):
    run = watch(tmp_path, "goes_on.py", "--steps", "30")
    assert run.done.returncode == 0
    assert len(rows(run, "steps")) == 30
    assert not (tmp_path / "after").exists()


def test_a_run_ends_after_the_time_it_was_given_and_nothing_after_the_loop_runs(tmp_path):
    run = watch(tmp_path, "goes_on.py", "--for", "3s")
    assert run.done.returncode == 0
    assert rows(run, "steps")[-1]["end_s"] - run.recording.main.facts["started_s"] >= 3
    assert not (tmp_path / "after").exists()


def test_ctrl_c_in_a_stalled_fit_is_answered_while_the_script_goes_on(tmp_path):
    # Two seconds are promised. How long the report itself takes is the machine's affair.
    assert UNANSWERED_S <= 1.0
    with Terminal((*QUICKFIT, "run", str(SCRIPTS / "stalled.py")), tmp_path) as terminal:
        terminal.read_until(b"stalled")
        eventually(lambda: recorded_steps(tmp_path) == 29, "29 steps are on disk")
        eventually(lambda: is_sampled_after_the_last_step(tmp_path), "it is seen to stand still")
        terminal.type(b"\x03")
        shown = terminal.read_until(b"still waiting for the script")
        assert b"the script has not reacted to Ctrl-C yet" in shown
        assert b"verdict " in shown
        assert is_alive(read_run_file(newest_run(tmp_path))["pid"])
    recording = reader.read(newest_run(tmp_path))
    assert len(recording.main.rows("steps")) == 29
    last = recording.main.rows("py_inputs")[-1]
    assert (last["kind"], last["busy"]) == ("generator", 1)


def is_sampled_after_the_last_step(folder):
    """Tell whether several stacks on disk are younger than the last step."""
    main = reader.read(newest_run(folder)).main
    last_s = main.rows("steps")[-1]["end_s"]
    return len({row["at_s"] for row in main.rows("samples") if row["at_s"] > last_s}) > 3


def recorded_steps(folder):
    """Return how many steps a growing recording holds."""
    try:
        return len(reader.read(newest_run(folder)).main.rows("steps"))
    except RecordingError:
        return 0


@pytest.mark.tf_any
def test_a_killed_script_leaves_a_report_and_quickfit_ends_as_it_did(tmp_path):
    process = subprocess.Popen(
        (*QUICKFIT, "run", str(SCRIPTS / "goes_on.py")),
        cwd=tmp_path,
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        script = pid_in(process.stdout.readline(), "pid")
        eventually(lambda: recorded_steps(tmp_path) >= 30, "30 steps are on disk")
        os.kill(script, signal.SIGKILL)
        _, stderr = process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert b"\nverdict " in stderr
    assert recorded_steps(tmp_path) >= 30


def test_a_script_that_trains_in_another_process_gets_the_report_of_that_one(tmp_path):
    run = watch(tmp_path, "starts_training.py")
    assert run.done.stdout == b"trained\nparent 0\n"
    assert rows(run, "loops") == []
    (child,) = [process for process in run.recording.others if process.rows("loops")]
    assert len(child.rows("steps")) == 40
    assert child.rows("loops")[0]["line"] == line_of("short.py", "fit")
    assert b"callback-batch-slow" in run.done.stderr
    assert f"short.py:{line_of('short.py', 'slow')}".encode() in run.done.stderr
