"""Loops around `fit` whose histories become one."""

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.fit_history import fit_with_history
from quickfit.fixes.script import Script

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
    script = Script("train.py", text)
    line = next(n for n, row in enumerate(script.lines, start=1) if ".fit(" in row)
    change = fit_with_history(script, line, [script])
    if change is None:
        return None
    assert change.kind is FixClass.EQUIVALENT
    return patched(script.text, change.edits)


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
