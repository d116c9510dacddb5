"""Every way to train, as a small real script: its loop is found, with its line, kind and steps."""

import functools
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from quickfit.diagnosis.breakdown import breakdown
from quickfit.errors import SignalMissing
from quickfit.recording import reader
from quickfit.signals import Signals
from quickfit.signals.loops import EPOCH_HOOKS

from launch.sessions import clean_env, newest_run, quickfit

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]

SCRIPTS = Path(__file__).parent / "scripts" / "loops"
ENV = clean_env(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
# Scripts that share a process, and their steps per epoch: enough for the pipeline to be read a
# few times where that matters. What changes the devices or forks has a process of its own.
GROUPS = {
    "files": (500, ("fit_files", "fit_tfrecord", "fit_from_generator", "fit_py_function")),
    "chains": (500, ("fit_cache", "fit_interleave", "fit_repeat", "fit_zip", "fit_train_step")),
    "python": (
        500,
        (
            *("fit_generator", "fit_pydataset", "fit_pydataset_threads", "fit_sequence"),
            "testing_on_batch",
        ),
    ),
    "others": (
        500,
        (
            *("fit_image_data_generator", "fit_sample_from_datasets", "fit_steps_per_execution"),
            *("fit_in_function", "fit_in_class"),
        ),
    ),
    # Its steps are short, and what they read is known from the pipeline alone.
    "iterator": (2500, ("custom_iterator_in_function",)),
    "arrays": (60, ("fit_arrays", "fit_eager", "fit_jit", "fit_several", "fit_in_thread")),
    "batches": (40, ("train_on_batch", "predict_loop", "evaluate")),
    "custom": (
        40,
        (
            *("custom_for", "custom_next", "custom_eager", "custom_gan", "custom_tqdm"),
            "custom_over",
            "custom_in_graph",
        ),
    ),
    "processes": (200, ("fit_pydataset_processes",)),
    "mirrored": (200, ("mirrored_fit",)),
    "mirrored by hand": (60, ("mirrored_custom",)),
}
GROUP_OF = {name: group for group, (_, names) in GROUPS.items() for name in names}
NAMES = list(GROUP_OF)
# A wait is known from tf.data's model after as many readings of it.
READINGS = 3


@dataclass(frozen=True)
class Expected:
    """What the second line of a script says a report must find."""

    kind: str
    steps: int
    input: str
    trains: bool
    wait_is_measured: bool


def expected(name):
    """Return what a script says of itself."""
    second_line = (SCRIPTS / f"{name}.py").read_text().splitlines()[1]
    said = dict(re.findall(r"(\w+)=([^,\s]+)", second_line))
    epochs, at_once = re.fullmatch(r"(\d+)\*n(?://(\d+))?", said["steps"]).groups(default=1)
    steps = int(epochs) * steps_per_epoch(name) // int(at_once)
    trains, wait = said.get("trains") != "no", said.get("wait") == "measured"
    return Expected(said["kind"], steps, said["input"], trains, wait)


def steps_per_epoch(name):
    """Return the number of steps per epoch that a script is run with here."""
    return GROUPS[GROUP_OF[name]][0]


def marked(name, mark):
    """Return the lines of a script that end in a comment."""
    lines = (SCRIPTS / f"{name}.py").read_text().splitlines()
    return [number for number, text in enumerate(lines, 1) if text.endswith(f"# {mark}")]


class Watched:
    """One script's part of a recording."""

    def __init__(self, name, recording):
        self.name = name
        self.file = str(SCRIPTS / f"{name}.py")
        self.recording = recording
        self.signals = Signals(recording)
        self.loops = [loop for loop in self.signals.loops if self.has(loop.location)]
        self.marked = [loop for loop in self.loops if loop.location.line in self.marks("the loop")]

    def has(self, location):
        """Tell whether a place is in this script."""
        return location is not None and location.file == self.file

    def marks(self, mark):
        """Return the lines with a mark."""
        return marked(self.name, mark)

    def signals_of(self, loop):
        """Return the signals with a loop of our choice as the one they are about."""
        signals = Signals(self.recording)
        signals.loop = loop
        return signals

    def rows(self, table, loop):
        """Return the rows of one loop."""
        rows = self.signals.process.rows(table)
        return [row for row in rows if row["loop"] == loop.id]

    def calls(self, mark):
        """Return the kind, name and number of the calls at the line with a mark.

        The first step's are counted outside any loop: nobody knows yet that there will be one.
        """
        (line,) = self.marks(mark)
        here = [c for c in self.signals.calls if self.has(c.location) and c.location.line == line]
        # The end of an iterator is no call of the script's, and may come after the run.
        mine = [call for call in here if call.kind != "end"]
        return sum((Counter({(c.kind, c.name): c.calls}) for c in mine), Counter())

    def readings(self, loop):
        """Return how often counters were read while a loop ran."""
        rows = self.recording.main.rows("machine")
        return sum(loop.begin_s < row["at_s"] < loop.end_s for row in rows)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Return a function that gives a script's part of the recording of its group's run."""

    @functools.cache
    def run(group):
        folder = tmp_path_factory.mktemp(group.replace(" ", "_"))
        steps, names = GROUPS[group]
        paths = [str(SCRIPTS / f"{names[0]}.py"), str(steps)]
        if len(names) > 1:
            paths = [str(SCRIPTS / "several.py"), str(steps), *names]
        done = quickfit(folder, "run", *paths, env=ENV)
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        return reader.read(newest_run(folder))

    return lambda name: Watched(name, run(GROUP_OF[name]))


def test_every_script_is_run():
    assert {path.stem for path in SCRIPTS.glob("*.py")} == {*NAMES, "several"}


@pytest.mark.parametrize("name", NAMES)
def test_the_loop_is_found_at_its_line(watched, name):
    script, wanted = watched(name), expected(name)
    assert [loop.location.line for loop in script.marked] == script.marks("the loop")
    for loop in script.marked:
        assert (loop.kind, loop.trains, loop.input) == (wanted.kind, wanted.trains, wanted.input)
    # A validation loop is a loop as well, but no training is seen where there is none.
    assert not [loop for loop in script.loops if loop.trains and loop not in script.marked]


@pytest.mark.parametrize("name", NAMES)
def test_every_step_is_counted_once(watched, name):
    script, wanted = watched(name), expected(name)
    counts = [len(script.rows("steps", loop)) for loop in script.marked]
    # Inside a compiled function only the optimizer tells; an epoch may go by unseen.
    unseen = steps_per_epoch(name) if wanted.kind == "graph" else 0
    assert counts
    assert all(wanted.steps - unseen <= count <= wanted.steps for count in counts), counts


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_of_the_time_add_up(watched, name):
    script = watched(name)
    for loop in script.marked:
        parts = breakdown(script.signals_of(loop)).parts
        assert all(part.share >= 0 for part in parts)
        assert sum(part.share for part in parts) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("name", [name for name in NAMES if expected(name).wait_is_measured])
def test_the_wait_for_input_is_measured(watched, name):
    script = watched(name)
    (loop,) = script.marked
    asks_itself = loop.kind == "custom" and "next" in loop.facts["head"]
    if script.readings(loop) < READINGS and not asks_itself:
        pytest.skip(f"over in {loop.duration_s:.1f} s: the pipeline was hardly read")
    wait = script.signals_of(loop).wait
    assert 0 <= wait.share <= 1
    assert wait.step_s >= 0
    # "The script makes its batches itself" would be a guess here.
    assert "between the steps" not in wait.source


def test_mirrored_fit_has_a_measured_wait_or_says_that_it_has_none(watched):
    script = watched("mirrored_fit")
    (loop,) = script.marked
    source = wait_or_what_is_missing(script.signals_of(loop))
    assert source.startswith("tf.data's"), source


def wait_or_what_is_missing(signals):
    """Return how the wait was measured, or what that would have needed."""
    try:
        return signals.wait.source
    except SignalMissing as missing:
        return missing.needs


def test_a_loop_of_an_iterator_is_timed_by_its_own_calls(watched):
    script = watched("custom_next")
    (loop,) = script.marked
    asked = [row["wait_s"] for row in script.rows("steps", loop) if row["call_s"] is not None]
    assert len(asked) >= 60
    assert all(wait_s >= 0 for wait_s in asked)
    assert script.calls("line: next") == {("next", "OwnedIterator"): 80}
    assert script.calls("line: step") == {("function", "update"): 80}


def test_each_function_of_a_step_has_a_line_of_its_own(watched):
    script = watched("custom_gan")
    assert script.calls("line: discriminator") == {("function", "train_discriminator"): 80}
    assert script.calls("line: generator") == {("function", "train_generator"): 80}


def test_the_calls_of_an_eager_step_are_told_apart(watched):
    script = watched("custom_eager")
    assert script.calls("line: gradient") == {("gradient", "GradientTape"): 80}
    assert script.calls("line: apply") == {("apply", "SGD"): 80}
    assert script.marked[0].facts["eager_loop"]


def test_the_validation_loop_and_the_checkpoints_of_a_script_are_seen(watched):
    script = watched("custom_for")
    (validation,) = [loop for loop in script.loops if not loop.trains]
    assert validation.location.line == script.marks("line: validation")[0]
    assert len(script.rows("steps", validation)) == 3 * 10
    assert script.calls("line: save") == {("save", "Checkpoint"): 3}


def test_validation_and_checkpoints_are_parts_of_the_training_time(watched):
    script = watched("custom_for")
    parts = {part.name: part.share for part in breakdown(script.signals_of(*script.marked)).parts}
    assert parts["validation"] > 0
    assert parts["checkpoint"] > 0


def test_a_callback_of_keras_that_saves_is_a_checkpoint(watched):
    script = watched("fit_repeat")
    parts = {part.name: part.share for part in breakdown(script.signals_of(*script.marked)).parts}
    assert parts["validation"] > 0
    assert parts["checkpoint"] > 0


def test_callbacks_of_the_user_are_told_from_those_of_keras(watched):
    script = watched("fit_arrays")
    (loop,) = script.marked
    times = loop.callback_times(script.signals.process, script.signals.location, EPOCH_HOOKS)
    ends = {time.name: time for time in times if time.hook == "on_epoch_end"}
    assert {name: time.is_user for name, time in ends.items()} == {
        "Best": True,
        "ReduceLROnPlateau": False,
        "History": False,
    }
    assert {time.calls for time in ends.values()} == {3}
    assert ends["Best"].location.line == script.marks("line: epoch hook")[0]
    assert {row["validation_s"] > 0 for row in script.rows("epochs", loop)} == {True}


def test_a_loop_that_only_looks_at_the_model_spends_its_time_there(watched):
    """Also where it is long, and only some of its steps are watched in full."""
    script = watched("testing_on_batch")
    parts = {part.name: part.share for part in breakdown(script.signals_of(*script.marked)).parts}
    assert parts["step"] > parts["between"]


def test_a_generator_is_timed_in_its_fit(watched):
    script = watched("fit_generator")
    (loop,) = script.marked
    last = script.rows("py_inputs", loop)[-1]
    assert (last["kind"], last["name"]) == ("generator", "batch_generator")
    assert (last["file"], last["line"]) == (script.file, script.marks("line: generator")[0])
    assert last["batches"] >= expected("fit_generator").steps


def test_how_a_fit_runs_is_recorded(watched):
    facts = {name: watched(name).marked[0].facts for name in ("fit_eager", "fit_jit")}
    assert [facts[name]["run_eagerly"] for name in facts] == [True, False]
    assert [facts[name]["jit_compile"] for name in facts] == [False, True]
    assert watched("fit_steps_per_execution").marked[0].facts["steps_per_execution"] == 5


def test_a_fit_in_a_thread_is_on_a_thread_of_its_own(watched):
    in_thread, alone = watched("fit_in_thread"), watched("fit_arrays")
    threads = {row["id"]: row["thread"] for row in alone.signals.process.rows("loops")}
    assert threads[in_thread.marked[0].id] != threads[alone.marked[0].id]
