"""Edits that save less often."""

import textwrap

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.saving import seldom_checkpoint, seldom_save
from quickfit.fixes.script import Project


def project(text, **others):
    texts = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    return Project({name: textwrap.dedent(text) for name, text in texts.items()})


def line_of(found, word):
    lines = found.script("train.py").lines
    return next(number for number, line in enumerate(lines, start=1) if word in line)


def checkpoint(found, **given):
    script = found.script("train.py")
    return seldom_checkpoint(script, line_of(found, "save_freq"), found, **given)


def text_after(found, change, name="train.py"):
    edits = [edit for edit in change.edits if edit.file == name]
    return patched(found.script(name).text, edits)


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
    change = seldom_save(found.script("train.py"), line_of(found, word), found)
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
