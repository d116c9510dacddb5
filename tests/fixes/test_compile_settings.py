"""XLA and several steps in one call, in every way a step can be written."""

import textwrap

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import is_in_conflict, merged, patched
from quickfit.fixes.compile_settings import with_steps, with_xla, with_xla_function
from quickfit.fixes.script import Project


def project(**files):
    return Project({f"{name}.py": textwrap.dedent(text) for name, text in files.items()})


def line_of(script, word):
    return next(number for number, line in enumerate(script.lines, 1) if word in line)


def made(text, edit, *words, **options):
    """Return the text after an edit of the line that has `compile(`, or why it is left alone."""
    found = project(train=text)
    script = found.script("train.py")
    change = edit(script, line_of(script, "compile("), *words, found, **options)
    return change if isinstance(change, str) else patched(script.text, change.edits)


def xla(text):
    return made(text, with_xla)


def steps(text, count=32, *, works_on_batches=False):
    return made(text, with_steps, count, works_on_batches=works_on_batches)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            'model.compile("adam", loss="mse")\n',
            'model.compile("adam", loss="mse", jit_compile=True)\n',
            id="it is added",
        ),
        pytest.param(
            'model.compile(\n    "adam",  # usual\n    loss="mse",\n)\n',
            'model.compile(\n    "adam",  # usual\n    loss="mse",\n    jit_compile=True,\n)\n',
            id="over several lines",
        ),
        pytest.param(
            'model.compile("adam", "mse", jit_compile=False)\n',
            'model.compile("adam", "mse", jit_compile=True)\n',
            id="it was off",
        ),
        pytest.param(
            'model.compile("adam", "mse", jit_compile="auto")\n',
            'model.compile("adam", "mse", jit_compile=True)\n',
            id="it was left to Keras",
        ),
        pytest.param(
            'JIT = False\nmodel.compile("adam", "mse", jit_compile=JIT)\n',
            'JIT = True\nmodel.compile("adam", "mse", jit_compile=JIT)\n',
            id="a constant says so",
        ),
        pytest.param(
            'class Net:\n    def make(self):\n        self.model.compile("adam", "mse")\n',
            "class Net:\n    def make(self):\n"
            '        self.model.compile("adam", "mse", jit_compile=True)\n',
            id="in a class",
        ),
        pytest.param(
            'if gpu: model.compile("adam", loss="mse"); x = 1\n',
            'if gpu: model.compile("adam", loss="mse", jit_compile=True); x = 1\n',
            id="beside other code",
        ),
    ],
)
def test_xla_is_turned_on_where(before, after):
    assert xla(before) == after


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(
            'model.compile("adam", **options)\n',
            "`compile` at train.py:1 is given arguments by `*` or `**`: add `jit_compile=True`",
            id="options without names",
        ),
        pytest.param(
            'model.compile("adam", jit_compile=args.jit)\n',
            "`jit_compile=args.jit` at train.py:1 is worked out elsewhere: make it True by hand",
            id="worked out elsewhere",
        ),
        pytest.param(
            'FAST = False\nprint(FAST)\nm.compile("adam", jit_compile=FAST)\n',
            "`jit_compile=FAST` at train.py:3 is worked out elsewhere: make it True by hand",
            id="a constant that says more",
        ),
        pytest.param(
            'a.compile("adam"); b.compile("sgd")\n',
            "train.py:1 has no single call of `compile`; put `jit_compile=True` there by hand",
            id="two models in one line",
        ),
        pytest.param(
            "model.compile()\n",
            "`compile` at train.py:1 is not recognised; put `jit_compile=True` there by hand",
            id="nothing is given",
        ),
        pytest.param(
            'model.compile("adam", "mse", None, None, None, False, 1, False)\n',
            "`compile` at train.py:1 is not recognised; put `jit_compile=True` there by hand",
            id="all by position",
        ),
    ],
)
def test_xla_is_left_alone_where(text, why):
    assert xla(text) == why


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            'm.compile("adam")\n', 'm.compile("adam", steps_per_execution=32)\n', id="new"
        ),
        pytest.param(
            'm.compile("adam", steps_per_execution=4)\n',
            'm.compile("adam", steps_per_execution=32)\n',
            id="more than before",
        ),
        pytest.param(
            'SPE = 4\nm.compile("adam", steps_per_execution=SPE)\n',
            'SPE = 32\nm.compile("adam", steps_per_execution=SPE)\n',
            id="a constant",
        ),
    ],
)
def test_several_steps_are_run_in_one_call_where(before, after):
    assert steps(before) == after


def test_steps_of_an_eager_model_are_left_alone():
    said = steps('m.compile("adam", run_eagerly=True)\n')
    assert said.startswith("`compile` at train.py:1 is not recognised")
    assert "steps_per_execution=32" in said


@pytest.mark.parametrize(
    "text", ['m.compile("adam")\n', 'm.compile("adam", steps_per_execution=2)\n']
)
def test_callbacks_on_batches_may_change_results(text):
    found = project(train=text)
    script = found.script("train.py")
    kinds = [
        with_steps(script, 1, 8, found, works_on_batches=works).kind for works in (False, True)
    ]
    assert kinds == [FixClass.SAME_RESULTS, FixClass.MAY_CHANGE_RESULTS]


@pytest.mark.parametrize(
    "text",
    [
        'model.compile("adam", "mse")\n',
        'model.compile(\n    "adam",\n    loss="mse",\n)\n',
        'model.compile(\n    "adam",\n    loss="mse"\n)\n',
        'model.compile(\n    "adam",\n    loss="mse",  # a note\n)\n',
        'model.compile(optimizer="adam",\n              loss="mse")\n',
        'def f(m):\n    m.compile(\n        optimizer=adam(1e-3), loss="mse",\n    )\n',
        'model.compile("adam", "mse", )\n',
        'model.compile("adam", "mse", jit_compile=False, steps_per_execution=4)\n',
    ],
)
def test_both_can_be_had_together(text):
    found = project(train=text)
    script = found.script("train.py")
    line = line_of(script, "compile(")
    both = [
        with_xla(script, line, found),
        with_steps(script, line, 32, found, works_on_batches=False),
    ]
    assert not is_in_conflict(both[0].edits, both[1].edits)
    after = patched(text, merged(both))
    compile(after, "train.py", "exec")
    assert after.count("jit_compile=True") == after.count("steps_per_execution=32") == 1


def test_a_comment_behind_the_last_argument_keeps_them_apart():
    text = 'model.compile(\n    "adam",\n    loss="mse"  # a note\n)\n'
    found = project(train=text)
    script = found.script("train.py")
    both = [with_xla(script, 1, found), with_steps(script, 1, 32, found, works_on_batches=False)]
    assert is_in_conflict(both[0].edits, both[1].edits)


STEP = "def step(x):\n    return x\n"


def function(text, word="def step"):
    script = project(train=text).script("train.py")
    change = with_xla_function(script, line_of(script, word))
    return change if isinstance(change, str) else patched(script.text, change.edits)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(f"@tf.function\n{STEP}", f"@tf.function(jit_compile=True)\n{STEP}", id="bare"),
        pytest.param(
            f"@tf.function(reduce_retracing=True)\n{STEP}",
            f"@tf.function(reduce_retracing=True, jit_compile=True)\n{STEP}",
            id="with arguments",
        ),
        pytest.param(
            f"@tf.function()\n{STEP}", f"@tf.function(jit_compile=True)\n{STEP}", id="empty"
        ),
        pytest.param(
            f"@tf.function(jit_compile=False)\n{STEP}",
            f"@tf.function(jit_compile=True)\n{STEP}",
            id="off",
        ),
        pytest.param(
            f"{STEP}fast = tf.function(step)\n",
            f"{STEP}fast = tf.function(step, jit_compile=True)\n",
            id="a call",
        ),
    ],
)
def test_xla_is_turned_on_for_a_function_that_is(before, after):
    assert function(before) == after


def test_the_line_of_the_decorator_will_do():
    text = f"import tensorflow as tf\n\n@tf.function\n{STEP}"
    assert "@tf.function(jit_compile=True)" in function(text, "@tf.function")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(STEP, "`step` at train.py:1 is not compiled by one `tf.function`", id="none"),
        pytest.param(
            f"{STEP}a = tf.function(step)\nb = tf.function(step)\n",
            "`step` at train.py:1 is not compiled by one `tf.function`",
            id="two",
        ),
        pytest.param(
            f"@tf.function(**options)\n{STEP}", "`tf.function` at train.py:2 has `**`", id="options"
        ),
    ],
)
def test_a_function_is_left_alone_where(text, why):
    assert function(text).startswith(why)


def test_a_line_without_a_function_is_left_alone():
    assert function("x = 1  # def step\n") == "train.py:1 is no function with a name"
