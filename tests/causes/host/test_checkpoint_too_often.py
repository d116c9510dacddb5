"""`checkpoint-too-often`: fires when saving takes a share of the training, whoever saves."""

import textwrap

import pytest

from hand_runs import COMPILED, KERAS, TF, hand_run
from quickfit.causes.host.callback_batch_slow import detect as detect_slow_callback
from quickfit.causes.host.checkpoint_too_often import detect, fix, seldom_checkpoint, seldom_save
from quickfit.code import Program
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

from builders import FIT_LINE, SCRIPT, run, shown_fix

SAVE = (f"{KERAS}/saving/saving_lib.py", "save_model")
MANAGER = (f"{TF}/checkpoint/checkpoint_management.py", "save")
KEEP_LINE, SAVE_LINE = 4, 6
TEXT = """\
import keras

keep = keras.callbacks.ModelCheckpoint(
    "model.keras", save_freq=5
)
model.save("model.keras")
"""


def saving(kind="fit", *, name="ModelCheckpoint", text=TEXT, saves=20, seen=40, **given):
    """Return a run of ten seconds in which each save takes 0.2 s."""
    line = FIT_LINE if kind == "fit" and name == "ModelCheckpoint" else SAVE_LINE
    signals = hand_run(
        kind,
        **{
            "stacks": [((SAVE,), line, seen), ((COMPILED,), FIT_LINE, 100 - seen)],
            "calls": [("save", line, saves, 0.2)] if saves else [],
            "head_line": FIT_LINE,
            "base": {"callback_s": 0.2 * saves / 105},
            **given,
        },
    )
    tables = signals.recording.main.tables
    tables["sources"][0]["text"] = text + "\n" * 10 + "model.fit(ds, epochs=3)\n"
    for row in tables["callbacks"]:
        row["name"], row["file"] = name, None if name == "ModelCheckpoint" else SCRIPT
    return signals


def test_fires_at_the_callback_with_clock_and_samples():
    finding = detect(saving())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == KEEP_LINE - 1
    assert finding.summary == "the model is saved every 5 steps"
    each, between, sampled = finding.evidence
    assert each.value == pytest.approx(0.2)
    assert between.value == pytest.approx(6 / 20, rel=0.01)
    assert sampled.value == pytest.approx(0.4)
    assert finding.is_of_whole
    assert finding.cost_share == pytest.approx(0.4, rel=0.01)
    assert finding.gain.likely == pytest.approx(1 / 0.64, rel=0.01)


def test_without_saves_the_input_may_be_the_limit():
    behind = {"callback_s": 0.2 * 20 / 105, "input_wait_s": 0.02, "map_s": 0.14}
    finding = detect(saving(base=behind))
    assert finding is not None
    assert finding.gain.high < 1 / 0.64
    assert finding.gain.basis.endswith("then the input is the limit")


@pytest.mark.parametrize("kind", ["fit", "train_on_batch", "custom"])
def test_fires_at_the_line_that_saves_by_hand(kind):
    finding = detect(saving(kind, name="Keep"))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == SAVE_LINE


def test_fires_for_a_save_after_each_call_of_fit():
    signals = saving(name="Log", saves=20, base={"callback_s": 0.0002})
    tables = signals.recording.main.tables
    tables["calls"][0]["loop"] = 0
    first = tables["loops"][0]
    first["end_s"] = tables["steps"][50]["end_s"]
    again_s = first["end_s"] + 4.0
    tables["loops"].append({**first, "id": 2, "entered_s": again_s, "begin_s": again_s})
    for row in tables["steps"][51:]:
        row |= {"loop": 2, "begin_s": row["begin_s"] + 4, "end_s": row["end_s"] + 4}
    tables["epochs"] = []
    finding = detect(signals)
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == SAVE_LINE
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.example == 'if round % 10 == 0:\n    model.save("model.keras")'


def seen_only(times=(1004.0, 1006.0, 1008.0), **given):
    stacks = [((MANAGER,), SAVE_LINE, 45), ((COMPILED,), FIT_LINE, 55)]
    signals = saving("custom", saves=0, stacks=stacks, call_s=0.05, **given)
    tables = signals.recording.main.tables
    row = tables["samples"].pop(0)
    each = row["seen"] // len(times)
    tables["samples"] += [{**row, "at_s": at_s, "seen": each} for at_s in times]
    return signals


def test_fires_for_saves_that_only_the_samples_know():
    finding = detect(seen_only())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == SAVE_LINE
    assert finding.summary == "the model is saved again and again"
    sampled, outside = finding.evidence
    assert sampled.value == pytest.approx(0.45)
    assert outside.value == pytest.approx(5.0, rel=0.01)


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy fit"),
        pytest.param(run(callback_s=0.03), id="a slow callback that does not save"),
        pytest.param(saving(saves=2), id="two saves"),
        pytest.param(saving(saves=4, seen=8), id="a small share of the time"),
        pytest.param(saving(seen=5), id="the samples are elsewhere"),
        pytest.param(saving("custom", facts={"trains": False}), id="a loop that only predicts"),
        pytest.param(seen_only(times=(1005.0,)), id="one long save, seen once"),
        pytest.param(seen_only(step_s=0.051), id="seen, but there was no time for it"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


@pytest.mark.parametrize("name", ["ModelCheckpoint", "Keep"])
def test_a_callback_that_saves_is_not_reported_as_a_slow_one_too(name):
    signals = saving(name=name)
    assert detect(signals) is not None
    assert detect_slow_callback(signals) is None


def test_of_two_callbacks_the_one_that_says_how_often_is_meant():
    text = TEXT + 'last = keras.callbacks.ModelCheckpoint("last.keras")\n'
    finding = detect(saving(text=text))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == KEEP_LINE - 1


def test_with_two_callbacks_alike_the_line_is_that_of_fit():
    text = "keep = [ModelCheckpoint(a), ModelCheckpoint(b)]\n" + "\n" * 5
    finding = detect(saving(text=text))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == FIT_LINE


class TestFix:
    def advice(self, signals):
        finding = detect(signals)
        assert finding is not None
        advice = shown_fix("checkpoint-too-often", finding, signals)
        assert advice is not None
        return advice

    def test_multiplies_the_frequency(self):
        advice = self.advice(saving())
        assert advice.before == '    "model.keras", save_freq=5'
        assert advice.after == '    "model.keras", save_freq=50'
        assert advice.kind is FixClass.SAME_RESULTS

    def test_says_when_the_best_model_may_be_another(self):
        text = 'keep = ModelCheckpoint("m.keras", save_best_only=True)\n' + "\n" * 5
        advice = self.advice(saving(text=text))
        assert advice.kind is FixClass.MAY_CHANGE_RESULTS
        assert "save_freq=50" in advice.example

    def test_guards_a_line_that_saves_by_hand(self):
        advice = self.advice(saving("custom"))
        assert advice.example == 'if step % 50 == 0:\n    model.save("model.keras")'


def project(text, **others):
    texts = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    return Program(texts={name: textwrap.dedent(text) for name, text in texts.items()})


def line_of(found, word):
    lines = found.find_module("train.py").lines
    return next(number for number, line in enumerate(lines, start=1) if word in line)


def checkpoint(found, **given):
    script = found.find_module("train.py")
    return seldom_checkpoint(script, line_of(found, "save_freq"), found, **given)


def text_after(found, change, name="train.py"):
    edits = [edit for edit in change.edits if edit.file == name]
    return apply_edits(found.find_module(name).text, edits)


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("keep = ModelCheckpoint(path, save_freq=5)\n",
         "keep = ModelCheckpoint(path, save_freq=50)\n"),
        ("EVERY = 2\nkeep = BackupAndRestore(d, save_freq=EVERY)\n",
         "EVERY = 20\nkeep = BackupAndRestore(d, save_freq=EVERY)\n"),
        ("EVERY = 2\nprint(EVERY)\nkeep = ModelCheckpoint(d, save_freq=EVERY)\n",
         "EVERY = 2\nprint(EVERY)\nkeep = ModelCheckpoint(d, save_freq=10 * EVERY)\n"),
        ('CFG = {"every": 3, "lr": 1}\nkeep = ModelCheckpoint(d, save_freq=CFG["every"])\n',
         'CFG = {"every": 30, "lr": 1}\nkeep = ModelCheckpoint(d, save_freq=CFG["every"])\n'),
        ("p = ArgumentParser()\np.add_argument('--save-every', type=int, default=4)\n"
         "args = p.parse_args()\nkeep = ModelCheckpoint(d, save_freq=args.save_every)\n",
         "p = ArgumentParser()\np.add_argument('--save-every', type=int, default=40)\n"
         "args = p.parse_args()\nkeep = ModelCheckpoint(d, save_freq=args.save_every)\n"),
    ],
)  # fmt: skip
def test_the_number_of_a_callback_is_multiplied_where_it_is_written(before, wanted):
    found = project(before)
    assert text_after(found, checkpoint(found)) == wanted


def test_the_number_is_found_in_another_file():
    found = project(
        "from config import EVERY\nkeep = ModelCheckpoint(d, save_freq=EVERY)\n",
        config="EVERY = 7\n",
    )
    assert text_after(found, checkpoint(found), "config.py") == "EVERY = 70\n"


def test_the_number_is_found_where_the_only_call_gives_it():
    found = project(
        "def keep(cfg, every):\n    return ModelCheckpoint(d, save_freq=every)\nkeep(c, 4)\n"
    )
    assert "keep(c, 40)" in text_after(found, checkpoint(found))


def test_a_short_training_saves_at_the_end_of_epochs():
    found = project("keep = ModelCheckpoint(path, save_freq=5)\n")
    change = checkpoint(found, steps=60)
    assert text_after(found, change) == 'keep = ModelCheckpoint(path, save_freq="epoch")\n'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ModelCheckpoint(d, save_freq=5)\n", FixClass.SAME_RESULTS),
        ("ModelCheckpoint(d, save_freq=5, save_best_only=False)\n", FixClass.SAME_RESULTS),
        ("ModelCheckpoint(d, save_freq=5, save_best_only=True)\n", FixClass.MAY_CHANGE_RESULTS),
        ("ModelCheckpoint(d, save_freq=5)\nload_model(d)\n", FixClass.MAY_CHANGE_RESULTS),
    ],
)
def test_another_model_may_be_kept_or_read(text, kind):
    assert checkpoint(project(text)).kind is kind


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('ModelCheckpoint(d, save_freq="epoch")\n', id="it saves epochs"),
        pytest.param("ModelCheckpoint(d, save_freq=often())\n", id="the number is worked out"),
        pytest.param("N = 1\nN = 2\nModelCheckpoint(d, save_freq=N)\n", id="it is set twice"),
        pytest.param("ModelCheckpoint(d, **options)  # save_freq\n", id="it is in a dict"),
        pytest.param("def f(n):\n    return ModelCheckpoint(d, save_freq=n)\n", id="an argument"),
        pytest.param('C = {"n": 1}\nC["n"] = 2\nModelCheckpoint(d, save_freq=C["n"])\n',
                     id="an entry is set later"),
    ],
)  # fmt: skip
def test_a_callback_is_left_alone_where(text):
    assert checkpoint(project(text)) is None


def saved(text, word="save("):
    found = project(text)
    change = seldom_save(found.find_module("train.py"), line_of(found, word), found)
    return change and text_after(found, change)


@pytest.mark.parametrize(
    ("loop", "test"),
    [
        ("for step, (x, y) in enumerate(ds):", "step % 10 == 9"),
        ("for epoch in range(EPOCHS):", "epoch % 10 == 9 or epoch == EPOCHS - 1"),
        ("for epoch in range(40):", "epoch % 10 == 9 or epoch == 39"),
        ("for epoch in range(1, epochs + 1):", "epoch % 10 == 0 or epoch == epochs"),
    ],
)
def test_a_loop_saves_on_every_tenth_turn(loop, test):
    text = f"{loop}\n    train(x)\n    model.save(path)\n"
    assert saved(text) == f"{loop}\n    train(x)\n    if {test}:\n        model.save(path)\n"


@pytest.mark.parametrize("unit", ["\t", "  "])
def test_a_file_keeps_its_own_indentation(unit):
    text = f"for step, x in enumerate(ds):\n{unit}train(x)\n{unit}model.save(\n{unit * 2}path)\n"
    assert saved(text) == (
        f"for step, x in enumerate(ds):\n{unit}train(x)\n{unit}if step % 10 == 9:\n"
        f"{unit * 2}model.save(\n{unit * 3}path)\n"
    )


def test_a_hook_saves_on_every_tenth_call():
    text = """\
    class Keep(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.save(
                f"{self.folder}/{epoch}.keras",
            )
    """
    assert saved(text) == textwrap.dedent("""\
    class Keep(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch % 10 == 9:
                self.model.save(
                    f"{self.folder}/{epoch}.keras",
                )
    """)


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("if step % 5 == 0:", "if step % 50 == 0:"),
        ("if not step % 5:", "if not step % 50:"),
        ("if (step + 1) % 5 == 0:", "if (step + 1) % 50 == 0:"),
    ],
)
def test_the_interval_of_a_save_is_multiplied(before, wanted):
    text = f"for step in steps:\n    train()\n    {before}\n        model.save(path)\n"
    assert saved(text) == text.replace(before, wanted)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("for x in ds:\n    model.save(path)\n", id="nothing counts"),
        pytest.param("for _ in range(9):\n    model.save(path)\n", id="the counter has no name"),
        pytest.param("while True:\n    model.save(path)\n", id="there is no counter"),
        pytest.param("for e in range(9):\n    path = model.save(p)\n", id="its result is used"),
        pytest.param('for e in range(9):\n    model.save("""a\nb""")\n', id="a text spans lines"),
        pytest.param("for e in range(9):\n    if loss < best:\n        model.save(p)\n",
                     id="the best one is saved"),
        pytest.param("for e in range(9):\n    if e % 5 == 0:\n        tell()\n        m.save(p)\n",
                     id="the interval is for something else too"),
        pytest.param("for e in range(9):\n    e += 1\n    m.save(p)\n", id="the counter is set"),
        pytest.param("model.save(p)\n", id="there is no loop"),
    ],
)  # fmt: skip
def test_a_save_is_left_alone_where(text):
    assert saved(text) is None
