"""16 bits for all layers but the last one."""

import textwrap

import pytest

from quickfit.fixes.change import patched
from quickfit.fixes.policy_settings import with_policy
from quickfit.fixes.script import Project

POLICY = 'config.set_dtype_policy("mixed_bfloat16")'
LIST = "m = keras.Sequential([Dense(8), Dense(1)])\n"


def made(text, **others):
    files = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    found = Project({name: textwrap.dedent(one) for name, one in files.items()})
    change = with_policy(found.script("train.py"), "mixed_bfloat16", found)
    if isinstance(change, str):
        return change
    scripts = [found.script(file) for file in found.files]
    own = {s.file: [e for e in change.edits if e.file == s.file] for s in scripts}
    return "".join(patched(script.text, own[script.file]) for script in scripts)


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
    assert made(before + model) == after + model.replace("(1)", '(1, dtype="float32")')


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
    assert made(f"import keras\n{before}") == f"import keras\nkeras.{POLICY}\n{after}"


def test_the_model_may_be_made_in_another_file():
    text = "import keras\nfrom nets import m\n"
    after = made(text, nets=f"import keras\n{LIST}")
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
    said = made(f"import keras\n{text}")
    assert said.startswith("which layer is the last one is not certain")
    assert 'keras.config.set_dtype_policy("mixed_bfloat16")' in said
    assert '`dtype="float32"` on the last layer' in said


def test_a_script_with_a_policy_of_its_own_is_left_alone():
    text = f'import keras\nkeras.mixed_precision.set_global_policy("float32")\n{LIST}'
    assert made(text) == "train.py:2 sets a policy itself"


def test_a_last_layer_with_a_dtype_is_left_alone():
    text = f"import keras\n{LIST}".replace("(1)", '(1, dtype="float16")')
    assert made(text) == "train.py:2 has a dtype"
