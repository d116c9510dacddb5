"""More examples per step, wherever their number comes from."""

import textwrap

import pytest

from quickfit.code.batch_size import Size
from quickfit.code.edits import apply_edits, is_in_conflict, merge_edits
from quickfit.code.program import Program
from quickfit.findings import FixClass
from quickfit.fixing.setting_edits import (
    with_batch,
    with_policy,
    with_steps,
    with_threads,
    with_xla,
    with_xla_function,
)


def made(text, word, *, method="batch", examples=32, **others):
    """Return all texts after a change of the line that has a word, or why it is left alone."""
    files = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    found = Program(texts={name: textwrap.dedent(one) for name, one in files.items()})
    script = found.find_module("train.py")
    line = next(number for number, one in enumerate(script.lines, 1) if word in one)
    change = with_batch(script, line, Size(method, examples, 2 * examples), found)
    if isinstance(change, str):
        return change
    assert change.kind is FixClass.MAY_CHANGE_RESULTS
    assert "learning rate" in change.note
    scripts = [found.find_module(file) for file in found.paths]
    own = {s.path: [e for e in change.edits if e.file == s.path] for s in scripts}
    return "".join(apply_edits(script.text, own[script.path]) for script in scripts)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ds = ds.batch(32)\n", "ds = ds.batch(64)\n"),
        ("B = 32\nds = ds.batch(B)\n", "B = 64\nds = ds.batch(B)\n"),
        ("ds = ds.shuffle(9).batch(32, True)\n", "ds = ds.shuffle(9).batch(64, True)\n"),
    ],
)
def test_a_number_that_is_written_becomes_larger(before, after):
    assert made(before, ".batch(") == after


def test_a_constant_of_another_file_becomes_larger():
    text = "from settings import BATCH\nds = ds.batch(BATCH)\n"
    assert made(text, ".batch(", settings="BATCH = 32\n") == f"{text}BATCH = 64\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("m.fit(x, y)\n", "m.fit(x, y, batch_size=64)\n"),
        ("m.fit(x, y, epochs=3)\n", "m.fit(x, y, epochs=3, batch_size=64)\n"),
        ("m.fit(x, y, batch_size=32)\n", "m.fit(x, y, batch_size=64)\n"),
        ("m.fit(x, y, 32)\n", "m.fit(x, y, 64)\n"),
    ],
)
def test_arrays_are_fed_in_larger_batches(before, after):
    assert made(before, "fit(", method="fit") == after


@pytest.mark.parametrize(
    ("before", "after", "examples"),
    [
        (
            'ds = keras.utils.image_dataset_from_directory("d")\n',
            'ds = keras.utils.image_dataset_from_directory("d", batch_size=64)\n',
            32,
        ),
        (
            'ds = keras.utils.image_dataset_from_directory("d", batch_size=16)\n',
            'ds = keras.utils.image_dataset_from_directory("d", batch_size=32)\n',
            16,
        ),
        (
            "ds = timeseries_dataset_from_array(x, y, 9)\n",
            "ds = timeseries_dataset_from_array(x, y, 9, batch_size=256)\n",
            128,
        ),
    ],
)
def test_functions_that_make_batches_are_asked_for_larger_ones(before, after, examples):
    assert made(before, "dataset_from", examples=examples) == after


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ds = ds.batch(size(32))\n", id="worked out"),
        pytest.param("ds = ds.batch(16)\n", id="another number than was seen"),
        pytest.param("ds = ds.batch(*given)\n", id="not named"),
        pytest.param("N = 32\nprint(N)\nds = ds.batch(N)\n", id="a constant that says more"),
    ],
)
def test_what_is_not_certain_is_told(text):
    assert made(text, ".batch(") == (
        f"where the 32 examples per step of train.py:{text.count(chr(10))} come from is not"
        " certain: write 64 there by hand"
    )


def test_a_fit_of_something_else_than_arrays_gets_no_batch_size():
    assert made("m.fit(gen)\n", "fit(", examples=8, method="fit").startswith("where the 8 examples")


def test_a_model_for_one_size_of_batch_is_told():
    text = "keras.Input(batch_shape=(32, 4))\nds = ds.batch(32)\n"
    assert made(text, ".batch(") == (
        "the model is made for batches of one size (`batch_shape`, `stateful`)"
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("B = 32\nm.fit(ds.batch(B), steps_per_epoch=100)\n", id="a number"),
        pytest.param("B = 32\nS = 9\nm.fit(ds.batch(B), steps_per_epoch=S)\n", id="a constant"),
    ],
)
def test_a_fixed_number_of_steps_is_told(text):
    said = made(text, ".batch(")
    assert said.startswith("`steps_per_epoch` at train.py:")
    assert said.endswith("so that an epoch would have more examples")


@pytest.mark.parametrize(
    "text",
    [
        "BATCH = 32\nm.fit(ds.batch(BATCH), steps_per_epoch=N // BATCH)\n",
        "BATCH = 32\nS = len(x) // BATCH\nm.fit(ds.batch(BATCH), steps_per_epoch=S)\n",
        "BATCH = 32\nm.fit(ds.batch(BATCH), steps_per_epoch=None)\n",
    ],
)
def test_a_number_of_steps_that_follows_the_size_is_no_obstacle(text):
    assert made(text, ".batch(") == text.replace("32", "64")


def project(**files):
    return Program(texts={f"{name}.py": textwrap.dedent(text) for name, text in files.items()})


def line_of(script, word):
    return next(number for number, line in enumerate(script.lines, 1) if word in line)


def made_compile_settings(text, edit, *words, **options):
    """Return the text after an edit of the line that has `compile(`, or why it is left alone."""
    found = project(train=text)
    script = found.find_module("train.py")
    change = edit(script, line_of(script, "compile("), *words, found, **options)
    return change if isinstance(change, str) else apply_edits(script.text, change.edits)


def xla(text):
    return made_compile_settings(text, with_xla)


def steps(text, count=32, *, works_on_batches=False):
    return made_compile_settings(text, with_steps, count, works_on_batches=works_on_batches)


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
    script = found.find_module("train.py")
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
    script = found.find_module("train.py")
    line = line_of(script, "compile(")
    both = [
        with_xla(script, line, found),
        with_steps(script, line, 32, found, works_on_batches=False),
    ]
    assert not is_in_conflict(both[0].edits, both[1].edits)
    after = apply_edits(text, merge_edits(both))
    compile(after, "train.py", "exec")
    assert after.count("jit_compile=True") == after.count("steps_per_execution=32") == 1


def test_a_comment_behind_the_last_argument_keeps_them_apart():
    text = 'model.compile(\n    "adam",\n    loss="mse"  # a note\n)\n'
    found = project(train=text)
    script = found.find_module("train.py")
    both = [with_xla(script, 1, found), with_steps(script, 1, 32, found, works_on_batches=False)]
    assert is_in_conflict(both[0].edits, both[1].edits)


STEP = "def step(x):\n    return x\n"


def function(text, word="def step"):
    script = project(train=text).find_module("train.py")
    change = with_xla_function(script, line_of(script, word))
    return change if isinstance(change, str) else apply_edits(script.text, change.edits)


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


POLICY = 'config.set_dtype_policy("mixed_bfloat16")'
LIST = "m = keras.Sequential([Dense(8), Dense(1)])\n"


def made_policy_settings(text, **others):
    files = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    found = Program(texts={name: textwrap.dedent(one) for name, one in files.items()})
    change = with_policy(found.find_module("train.py"), "mixed_bfloat16", found)
    if isinstance(change, str):
        return change
    scripts = [found.find_module(file) for file in found.paths]
    own = {s.path: [e for e in change.edits if e.file == s.path] for s in scripts}
    return "".join(apply_edits(script.text, own[script.path]) for script in scripts)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import keras\n", f"import keras\nkeras.{POLICY}\n"),
        ("import tensorflow as tf\n", f"import tensorflow as tf\ntf.keras.{POLICY}\n"),
        ("from tensorflow import keras\n", f"from tensorflow import keras\nkeras.{POLICY}\n"),
        ("from tensorflow import keras as K\n", f"from tensorflow import keras as K\nK.{POLICY}\n"),
        (
            "import tensorflow as tf\nimport keras\n",
            f"import tensorflow as tf\nimport keras\nkeras.{POLICY}\n",
        ),
        (
            "from keras.layers import Dense\n",
            f"from keras.layers import Dense\nimport keras\nkeras.{POLICY}\n",
        ),
    ],
)
def test_the_policy_stands_behind_the_import(before, after):
    model = LIST.replace("keras.", "")
    assert made_policy_settings(before + model) == after + model.replace(
        "(1)", '(1, dtype="float32")'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(LIST, LIST.replace("(1)", '(1, dtype="float32")'), id="a list"),
        pytest.param(
            "m = keras.Sequential()\nm.add(Dense(8))\nm.add(Dense(1))\n",
            'm = keras.Sequential()\nm.add(Dense(8))\nm.add(Dense(1, dtype="float32"))\n',
            id="added one by one",
        ),
        pytest.param(
            "a = keras.Input((4,))\nb = Dense(8)(a)\nb = Dense(1)(b)\nm = keras.Model(a, b)\n",
            'a = keras.Input((4,))\nb = Dense(8)(a)\nb = Dense(1, dtype="float32")(b)\n'
            "m = keras.Model(a, b)\n",
            id="functional",
        ),
        pytest.param(
            "a = keras.Input((4,))\nm = keras.Model(inputs=a, outputs=Dense(1)(a))\n",
            "a = keras.Input((4,))\n"
            'm = keras.Model(inputs=a, outputs=Dense(1, dtype="float32")(a))\n',
            id="in one line",
        ),
    ],
)
def test_the_last_layer_stays_in_float32(before, after):
    assert (
        made_policy_settings(f"import keras\n{before}") == f"import keras\nkeras.{POLICY}\n{after}"
    )


def test_the_model_may_be_made_in_another_file():
    text = "import keras\nfrom nets import m\n"
    after = made_policy_settings(text, nets=f"import keras\n{LIST}")
    assert after == (
        f"import keras\nkeras.{POLICY}\nfrom nets import m\nimport keras\n"
        + LIST.replace("(1)", '(1, dtype="float32")')
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("m = Net()\n", id="a class"),
        pytest.param(f"{LIST}{LIST}", id="two models"),
        pytest.param("m = keras.Sequential(layers)\n", id="a list from elsewhere"),
        pytest.param("m = keras.Model(a, [b, c])\n", id="two outputs"),
        pytest.param("m = keras.Sequential([Dense(8), *tail])\n", id="an open end"),
    ],
)
def test_a_model_whose_last_layer_is_not_certain_is_told(text):
    said = made_policy_settings(f"import keras\n{text}")
    assert said.startswith("which layer is the last one is not certain")
    assert 'keras.config.set_dtype_policy("mixed_bfloat16")' in said
    assert '`dtype="float32"` on the last layer' in said


def test_a_script_with_a_policy_of_its_own_is_left_alone():
    text = f'import keras\nkeras.mixed_precision.set_global_policy("float32")\n{LIST}'
    assert made_policy_settings(text) == "train.py:2 sets a policy itself"


def test_a_last_layer_with_a_dtype_is_left_alone():
    text = f"import keras\n{LIST}".replace("(1)", '(1, dtype="float16")')
    assert made_policy_settings(text) == "train.py:2 has a dtype"


def change(text, pool="inter", threads=1, **others):
    files = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    found = Program(texts=files)
    return with_threads(found.find_module("train.py"), pool, threads, found)


@pytest.mark.parametrize(
    ("pool", "threads", "call", "title"),
    [
        ("inter", 1, "set_inter_op_parallelism_threads(1)", "Let TensorFlow run 1 operation at a"),
        ("inter", 4, "set_inter_op_parallelism_threads(4)", "Let TensorFlow run 4 operations at a"),
        ("intra", 1, "set_intra_op_parallelism_threads(1)", "Give an operation 1 thread"),
        ("intra", 2, "set_intra_op_parallelism_threads(2)", "Give an operation 2 threads"),
    ],
)
def test_a_pool_is_set_right_behind_the_import(pool, threads, call, title):
    text = "import tensorflow as tf\nx = tf.ones(3)\n"
    made = change(text, pool, threads)
    assert apply_edits(text, made.edits) == (
        f"import tensorflow as tf\ntf.config.threading.{call}\nx = tf.ones(3)\n"
    )
    assert made.title.startswith(title)
    assert made.kind is FixClass.MAY_CHANGE_RESULTS


def test_a_script_that_sets_threads_itself_is_left_alone():
    own = "import tensorflow as tf\n\ntf.config.threading.set_intra_op_parallelism_threads(8)\n"
    assert change(own) == "train.py:3 sets the number of threads itself"
    assert change("import setup_tf\n", setup_tf=own) == (
        "setup_tf.py:3 sets the number of threads itself"
    )


def test_a_file_without_a_certain_place_is_left_alone():
    said = change("def main():\n    import tensorflow as tf\n")
    assert said == "`tf` in train.py:1 is not imported at the top of the file"
