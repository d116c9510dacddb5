"""A function that compiles the model in every round, and then only sets the learning rate."""

import pytest

from quickfit.causes.host.fit_or_compile_in_loop.edit import (
    one_compile,
    one_compile_of_helper,
    one_fit,
)
from quickfit.causes.host.fit_or_compile_in_loop.history import fit_with_history
from quickfit.code import Module
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

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
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".compile(" in row)
    change = one_compile_of_helper(script, line, [script])
    return (apply_edits(text, change.edits), change.kind) if change is not None else None


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


LISTED = """\
model.compile("adam", "mse", metrics=["mae"])
losses = []
for epoch in range(4):
    hist = model.fit(x, y, epochs=1, verbose=0)
    losses.append(hist.history["loss"][0])
    print(f"{epoch}: {hist.history['mae'][-1]:.4f}")
"""
EVALUATED = """\
model.compile("adam", "mse", metrics=["mae"])
for epoch in range(1, n + 1):
    model.fit(x, y, batch_size=64)
    loss, mae = model.evaluate(a, b, verbose=0)
    print(epoch, loss, mae)
"""


def fitted(text):
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".fit(" in row)
    change = fit_with_history(script, line, [script])
    if change is None:
        return None
    assert change.kind is FixClass.EQUIVALENT
    return apply_edits(script.text, change.edits)


def test_one_history_has_the_numbers_of_all_epochs():
    assert fitted(LISTED) == """\
model.compile("adam", "mse", metrics=["mae"])
losses = []
hist = model.fit(x, y, epochs=4, verbose=0)
for epoch in range(4):
    losses.append(hist.history["loss"][epoch])
    print(f"{epoch}: {hist.history['mae'][epoch]:.4f}")
"""  # fmt: skip


def test_evaluate_becomes_the_validation_of_each_epoch():
    assert fitted(EVALUATED) == """\
model.compile("adam", "mse", metrics=["mae"])
history = model.fit(
    x,
    y,
    batch_size=64,
    epochs=n,
    validation_data=(a, b),
    validation_batch_size=32,
)
for epoch in range(1, n + 1):
    loss, mae = history.history["val_loss"][epoch - 1], history.history["val_mae"][epoch - 1]
    print(epoch, loss, mae)
"""  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LISTED.replace("losses.append", "save"), id="a function is unknown"),
        pytest.param(LISTED.replace('["loss"][0]', '["loss"]'), id="a list of one number is kept"),
        pytest.param(LISTED + "print(hist.history)\n", id="the last history is read"),
        pytest.param(
            LISTED.replace("    print", "    if losses[-1] < 1: break\n    print"),
            id="the training may end early",
        ),
        pytest.param(
            LISTED.replace("    print", "    model.save('m.keras')\n    print"),
            id="the model is saved",
        ),
        pytest.param(LISTED.replace("    print", "    x.append(3)\n    print"), id="data grows"),
        pytest.param(LISTED.replace("    print", "    x[0] = 3\n    print"), id="a row changes"),
        pytest.param(
            LISTED.replace("epochs=1", "callbacks=[stop]"), id="callbacks begin anew each time"
        ),
        pytest.param(LISTED.replace("epochs=1", "epochs=2"), id="a call is several epochs"),
        pytest.param(
            LISTED.replace("    hist =", "    x = augment(x)\n    hist ="), id="the data changes"
        ),
        pytest.param(EVALUATED.replace('["mae"]', "[mine]"), id="the metrics are unknown"),
        pytest.param(
            EVALUATED.replace("verbose=0)", "sample_weight=w)"), id="rows have weights"
        ),
        pytest.param(
            EVALUATED.replace("batch_size=64", "validation_split=0.1"), id="there is a validation"
        ),
        pytest.param(EVALUATED.replace("model.evaluate", "other.evaluate"), id="another model"),
    ],
)  # fmt: skip
def test_the_loop_stays_where(text):
    assert fitted(text) is None


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
    return [(apply_edits(script.text, change.edits), change.kind) for change in found]


def compiled_fit_once(text):
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".compile(" in row)
    return texts(one_compile(script, line, [script]), script)


def fitted_fit_once(text):
    script = Module("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".fit(" in row)
    change = one_fit(script, line)
    return texts([change], script)[0] if change else None


def test_only_the_learning_rate_stays_in_the_loop():
    ((after, kind),) = compiled_fit_once(COMPILED)
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
    (after, kind), (_, other) = compiled_fit_once(PLAIN)
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
    ((after, kind),) = compiled_fit_once(text)
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
    assert compiled_fit_once(text) == []


def test_a_rate_stays_where_more_is_given_by_position():
    assert compiled_fit_once(PLAIN.replace("0.9**epoch)", "0.9**epoch, 0.9)")) == []


def test_no_schedule_is_written_where_keras_has_no_name():
    text = PLAIN.replace("import keras", "from keras import optimizers")
    ((after, _),) = compiled_fit_once(text.replace("keras.optimizers.SGD", "optimizers.SGD"))
    assert "model.optimizer.learning_rate = 0.1 * 0.9**epoch" in after


def test_a_model_that_an_object_makes_anew_is_compiled_anew():
    text = COMPILED.replace("model.", "self.model.").replace(
        "    lr =", "    self.model = make()\n    lr ="
    )
    assert compiled_fit_once(text) == []


def test_one_fit_trains_all_epochs():
    after = "# one more\nmodel.fit(x, y, epochs=ROUNDS, shuffle=False)\n"
    assert fitted_fit_once(FITTED) == (after, FixClass.SAME_RESULTS)


def test_a_fit_that_shuffles_is_no_longer_called_the_same():
    assert fitted_fit_once(FITTED.replace(", shuffle=False", ""))[1] is FixClass.EQUIVALENT


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
    assert fitted_fit_once(text) is None
