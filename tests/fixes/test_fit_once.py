"""`fit` and `compile` that are called once."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.fit_once import one_compile, one_fit
from quickfit.fixes.script import Script

COMPILED = """\
import keras
for epoch in range(9):
    lr = 1e-3 * 0.9**epoch
    model.compile(optimizer=keras.optimizers.Adam(lr), loss="mse")
    model.fit(x, y, verbose=0)
    print(lr)
"""
PLAIN = """\
import keras
for epoch in range(9):
    model.compile(keras.optimizers.SGD(0.1 * 0.9**epoch), loss="mse")
    model.fit(x, y, shuffle=False)
"""
FITTED = """\
for _ in range(ROUNDS):
    # one more
    model.fit(x, y, epochs=1, shuffle=False)
"""


def texts(found, script):
    return [(patched(script.text, change.edits), change.kind) for change in found]


def compiled(text):
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".compile(" in row)
    return texts(one_compile(script, line, [script]), script)


def fitted(text):
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".fit(" in row)
    change = one_fit(script, line)
    return texts([change], script)[0] if change else None


def test_only_the_learning_rate_stays_in_the_loop():
    ((after, kind),) = compiled(COMPILED)
    assert (
        after
        == """\
import keras
model.compile(optimizer=keras.optimizers.Adam(), loss="mse")
for epoch in range(9):
    lr = 1e-3 * 0.9**epoch
    model.optimizer.learning_rate = lr
    model.fit(x, y, verbose=0)
    print(lr)
"""
    )
    assert kind is FixClass.MAY_CHANGE_RESULTS


def test_a_rate_for_each_epoch_becomes_a_schedule():
    (after, kind), (_, other) = compiled(PLAIN)
    assert (
        after
        == """\
import keras
model.compile(keras.optimizers.SGD(), loss="mse")
model.fit(
    x,
    y,
    shuffle=False,
    epochs=9,
    callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 * 0.9**epoch)],
)
"""
    )
    assert kind is other is FixClass.SAME_RESULTS


def test_a_compile_that_never_changes_moves_out():
    text = COMPILED.replace("keras.optimizers.Adam(lr)", "optimizer")
    ((after, kind),) = compiled(text)
    assert after.startswith('import keras\nmodel.compile(optimizer=optimizer, loss="mse")\nfor')
    assert kind is FixClass.SAME_RESULTS


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            COMPILED.replace("    lr", "    model = build()\n    lr"), id="the model is new"
        ),
        pytest.param(
            COMPILED.replace("    lr =", "    base.trainable = epoch > 3\n    lr ="),
            id="layers are frozen in the loop",
        ),
        pytest.param(COMPILED.replace('"mse"', "losses[epoch]"), id="the loss changes"),
        pytest.param(
            COMPILED.replace("1e-3 * 0.9**epoch", "schedules[epoch]"), id="the rate is an object"
        ),
        pytest.param(
            COMPILED.replace("    print(lr)", "    if lr < 1:\n        break"),
            id="the loop ends early",
        ),
        pytest.param(
            COMPILED.replace("    model.compile", "    if epoch:\n        model.compile"),
            id="it is compiled now and then",
        ),
        pytest.param(COMPILED.replace('"mse")', '"mse")  # again'), id="a comment would be lost"),
    ],
)
def test_a_compile_stays_in_its_loop_where(text):
    assert compiled(text) == []


def test_a_rate_stays_where_more_is_given_by_position():
    assert compiled(PLAIN.replace("0.9**epoch)", "0.9**epoch, 0.9)")) == []


def test_no_schedule_is_written_where_keras_has_no_name():
    text = PLAIN.replace("import keras", "from keras import optimizers")
    ((after, _),) = compiled(text.replace("keras.optimizers.SGD", "optimizers.SGD"))
    assert "model.optimizer.learning_rate = 0.1 * 0.9**epoch" in after


def test_a_model_that_an_object_makes_anew_is_compiled_anew():
    text = COMPILED.replace("model.", "self.model.").replace(
        "    lr =", "    self.model = make()\n    lr ="
    )
    assert compiled(text) == []


def test_one_fit_trains_all_epochs():
    after = "# one more\nmodel.fit(x, y, epochs=ROUNDS, shuffle=False)\n"
    assert fitted(FITTED) == (after, FixClass.SAME_RESULTS)


def test_a_fit_that_shuffles_is_no_longer_called_the_same():
    assert fitted(FITTED.replace(", shuffle=False", ""))[1] is FixClass.EQUIVALENT


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(FITTED + "    model.evaluate(x, y)\n", id="the loop does more"),
        pytest.param(FITTED.replace("x, y,", "x[_], y[_],"), id="each turn has its own data"),
        pytest.param(FITTED.replace("x, y,", "make(), y,"), id="each turn makes its data"),
        pytest.param(FITTED.replace("x, y,", "batches,"), id="it may be a generator"),
        pytest.param(FITTED.replace("epochs=1", "epochs=3"), id="a turn has several epochs"),
        pytest.param(
            FITTED.replace("shuffle=False", "callbacks=[stop]"), id="a callback starts anew"
        ),
        pytest.param(FITTED.replace("range(ROUNDS)", "folds"), id="it is no loop over numbers"),
        pytest.param(
            FITTED.replace("    model", "    h = model") + "print(h.history)\n",
            id="the history is read",
        ),
    ],
)
def test_a_fit_stays_in_its_loop_where(text):
    assert fitted(text) is None
