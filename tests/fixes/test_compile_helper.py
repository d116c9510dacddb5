"""A function that compiles the model in every round, and then only sets the learning rate."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.compile_helper import one_compile_of_helper
from quickfit.fixes.script import Script

TEXT = """\
import keras
def new_round(net, lr):
    net.compile(optimizer=keras.optimizers.Adam(lr, beta_1=0.8), loss="mse")
model = build()
for r in range(5):
    new_round(model, 1e-3 * 0.8**r)
    model.fit(x, y)
"""


def compiled(text):
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".compile(" in row)
    change = one_compile_of_helper(script, line, [script])
    return (patched(text, change.edits), change.kind) if change is not None else None


def test_the_function_only_sets_the_rate_and_the_model_is_compiled_before_the_loop():
    assert compiled(TEXT) == (
        """\
import keras
def new_round(net, lr):
    net.optimizer.learning_rate = lr
model = build()
model.compile(optimizer=keras.optimizers.Adam(beta_1=0.8), loss="mse")
for r in range(5):
    new_round(model, 1e-3 * 0.8**r)
    model.fit(x, y)
""",
        FixClass.MAY_CHANGE_RESULTS,
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TEXT + "new_round(model, 1.0)\n", id="it is called elsewhere"),
        pytest.param(TEXT.replace('loss="mse"', "loss=lr"), id="the rate is something else, too"),
        pytest.param(TEXT.replace("1e-3 * 0.8**r", "schedule"), id="the rate may be a schedule"),
        pytest.param(
            TEXT.replace("    new_round", "    model = build()\n    new_round"), id="a new model"
        ),
        pytest.param(
            TEXT.replace("    new_round", "    model.layers[0].trainable = True\n    new_round"),
            id="layers are frozen",
        ),
        pytest.param(
            TEXT.replace("    net.compile", "    print(lr)\n    net.compile"), id="it does more"
        ),
    ],
)
def test_the_function_compiles_where(text):
    assert compiled(text) is None
