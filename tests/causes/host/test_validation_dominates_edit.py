"""Edits that validate less often."""

import textwrap

import pytest

from quickfit.causes.host.validation_dominates.edit import (
    seldom_look,
    seldom_loop,
    seldom_validation,
)
from quickfit.code.batch_size import larger_validation_batch
from quickfit.code.edits import apply_edits
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.findings import FixClass

FIT = "model.fit(x, y, epochs=n, validation_data=(a, b))\n"


def changed(recognise, text, word, *more):
    text = textwrap.dedent(text)
    found = Program(texts={"train.py": text})
    script = found.find_module("train.py")
    line = next(number for number, row in enumerate(script.lines, start=1) if word in row)
    change = recognise(script, line, found, *more)
    return change, change and apply_edits(text, change.edits)


@pytest.mark.parametrize(
    ("epochs", "every"), [(100, 5), (12, 6), (14, 7), (9, 3), (4, 4), (13, 5), (None, 5)]
)
def test_fit_validates_every_few_epochs_and_the_last_one_where_it_can(epochs, every):
    change, text = changed(seldom_validation, FIT, "fit", epochs)
    assert text == FIT.replace("))", f"), validation_freq={every})")
    assert change.kind is FixClass.SAME_RESULTS


def test_an_interval_of_one_is_replaced():
    _, text = changed(seldom_validation, "m.fit(x, validation_split=0.5, validation_freq=1)\n",
                      "fit", 10)  # fmt: skip
    assert text == "m.fit(x, validation_split=0.5, validation_freq=5)\n"


@pytest.mark.parametrize("name", ["EarlyStopping", "ReduceLROnPlateau", "ModelCheckpoint"])
def test_a_callback_that_decides_may_decide_otherwise(name):
    change, _ = changed(seldom_validation, f"c = {name}()\n{FIT}", "fit", 20)
    assert change.kind is FixClass.MAY_CHANGE_RESULTS
    assert name in change.note


@pytest.mark.parametrize(
    "use",
    [
        pytest.param('print(min(h.history["val_loss"]))\n', id="the least"),
        pytest.param('print(h.history["val_accuracy"][-1])\n', id="the last"),
        pytest.param('EarlyStopping(monitor="val_loss")\n', id="what a callback looks at"),
        pytest.param('"""Look at val_loss afterwards."""\n', id="a text"),
    ],
)
def test_validation_is_seldom_where_all_that_is_read_is(use):
    assert changed(seldom_validation, FIT + use, "fit", 20)[1] is not None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(FIT + 'plt.plot(h.history["val_loss"])\n', id="a curve is drawn"),
        pytest.param(FIT + 'plt.plot(e, h.history["val_loss"])\n', id="drawn against epochs"),
        pytest.param(FIT + 'for a in h.history["val_loss"]: print(a)\n', id="each one is read"),
        pytest.param(FIT + 'best = h.history["val_loss"][3]\n', id="one epoch is picked"),
        pytest.param(FIT + 'print(logs["val_loss"])\n', id="a callback needs it"),
        pytest.param(FIT + 'print(logs.get("val_loss"))\n', id="a callback asks for it"),
        pytest.param(FIT + 'ModelCheckpoint("w-{val_loss:.2f}.keras")\n', id="a path has it"),
        pytest.param(FIT + "pd.DataFrame(h.history)\n", id="a table has a row per epoch"),
        pytest.param(FIT + "for k, v in h.history.items(): pass\n", id="all curves are read"),
        pytest.param(FIT + 'Best(monitor="val_loss")\n', id="a callback of one's own needs it"),
        pytest.param("model.fit(x, y, **options)\n", id="the arguments are in a dict"),
        pytest.param("model.fit(x, validation_freq=3)\n", id="it is chosen already"),
    ],
)
def test_fit_is_left_alone_where(text):
    assert changed(seldom_validation, text, "fit", 20)[1] is None


def test_there_is_nothing_to_leave_out_of_one_epoch():
    assert changed(seldom_validation, FIT, "fit", 1)[1] is None


LOOP = "for epoch in range(20):\n    model.fit(x, y, epochs=1)\n"
TEST = "    if epoch % 5 == 4 or epoch == 19:\n"


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("    model.evaluate(v, w)\n", TEST + "        model.evaluate(v, w)\n"),
        ("    print(epoch, model.evaluate(v, w))\n",
         TEST + "        print(epoch, model.evaluate(v, w))\n"),
        ("    # how well?\n    acc = model.evaluate(v)  # slow\n\n    # tell\n    print(acc)\n",
         "    # how well?\n" + TEST + "        acc = model.evaluate(v)  # slow\n\n"
         "        # tell\n        print(acc)\n"),
        ("    p = model.predict(v)\n    auc = roc_auc_score(w, p)\n    print(auc)\n",
         TEST + "        p = model.predict(v)\n        auc = roc_auc_score(w, p)\n"
         "        print(auc)\n"),
        ("    loss, acc = model.evaluate(v, w)\n    print(f'{acc:.2f}')\n",
         TEST + "        loss, acc = model.evaluate(v, w)\n        print(f'{acc:.2f}')\n"),
    ],
)  # fmt: skip
def test_a_loop_evaluates_on_every_fifth_turn(before, wanted):
    word = "predict" if "predict" in before else "evaluate"
    assert changed(seldom_look, LOOP + before, word)[1] == LOOP + wanted


def test_a_hook_evaluates_on_every_fifth_epoch():
    text = """\
    class Test(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            result = self.model.evaluate(self.x, self.y)
            print("test", result)
    """
    change, after = changed(seldom_look, text, "evaluate")
    assert after == textwrap.dedent("""\
    class Test(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch % 5 == 4:
                result = self.model.evaluate(self.x, self.y)
                print("test", result)
    """)
    assert change.kind is FixClass.SAME_RESULTS


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("    acc = model.evaluate(v)\n    accs.append(acc)\n", id="it is collected"),
        pytest.param("    acc = model.evaluate(v)\n    if acc > 9:\n        break\n", id="it ends"),
        pytest.param("    acc = model.evaluate(v)\nprint(acc)\n", id="it is read after the loop"),
        pytest.param("    p = model.evaluate(v)\n    d = stop(p)\n    print(d)\n", id="it decides"),
        pytest.param("    r.append(model.evaluate(v))\n", id="it is collected at once"),
        pytest.param("    if epoch > 3:\n        model.evaluate(v)\n", id="it has its own test"),
    ],
)
def test_a_loop_is_left_alone_where(body):
    assert changed(seldom_look, LOOP + body, "evaluate")[1] is None


DATA = "ds = tf.data.Dataset.from_tensor_slices((x, y))\nval = ds.skip(9).batch(1).cache()\n"


def test_a_validation_of_single_examples_takes_many_at_a_time():
    change, text = changed(
        larger_validation_batch, DATA + "model.fit(train, validation_data=val)\n", "fit"
    )
    assert text.startswith(DATA.replace("batch(1)", "batch(256)"))
    assert change.kind is FixClass.EQUIVALENT


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(DATA + "m.fit(val, validation_data=val)\n", id="it is trained with too"),
        pytest.param(DATA + "for a in val: pass\nm.fit(t, validation_data=val)\n", id="a loop"),
        pytest.param(DATA.replace("(1)", "(64)") + "m.fit(t, validation_data=val)\n", id="large"),
        pytest.param("val = ds.map(f).batch(1)\nm.fit(t, validation_data=val)\n", id="any shape"),
        pytest.param(DATA + "m.fit(t, validation_data=val, steps_per_epoch=3)\n", id="steps"),
    ],
)
def test_a_validation_batch_is_left_alone_where(text):
    assert changed(larger_validation_batch, text, "m.fit")[1] is None


TRAINING = """\
for epoch in range(EPOCHS):
    for x, y in train:
        loss = train_step(x, y)
    print(epoch, float(loss))
"""


def changed_validation_loops(body, more="", head=TRAINING):
    text = head + textwrap.indent(textwrap.dedent(body), "    ") + more
    script = Module("train.py", text)
    line = next(number for number, row in enumerate(script.lines, start=1) if " in val" in row)
    change = seldom_loop(script, line)
    assert change is None or change.kind is FixClass.SAME_RESULTS
    return change and apply_edits(text, change.edits).removeprefix(TRAINING)


def test_a_loop_with_its_results_runs_on_every_fifth_turn():
    body = """\
    for x, y in val:
        test_step(x, y)  # no weights change
        metric.update_state(y, model(x))
    accuracy = metric.result()
    print(f"accuracy {float(accuracy):.3f}")
    metric.reset_state()
    save_time()
    """
    assert (
        changed_validation_loops(body)
        == """\
    if epoch % 5 == 4 or epoch == EPOCHS - 1:
        for x, y in val:
            test_step(x, y)  # no weights change
            metric.update_state(y, model(x))
        accuracy = metric.result()
        print(f"accuracy {float(accuracy):.3f}")
        metric.reset_state()
    save_time()
"""
    )


STEPS = """\
@tf.function
def train_step(x, y):
    train_loss(loss_of(model(x, training=True), y))


@tf.function
def test_step(x, y):
    test_loss(loss_of(model(x), y))


"""


def test_metrics_of_the_test_step_are_printed_with_it():
    head = STEPS + "for epoch in range(9):\n    for x, y in train:\n        train_step(x, y)\n"
    body = "for a, b in val:\n    test_step(a, b)\nprint(train_loss.result(), test_loss.result())\n"
    assert changed_validation_loops(body, head=head).endswith("""\
    if epoch % 5 == 4 or epoch == 8:
        for a, b in val:
            test_step(a, b)
        print(train_loss.result(), test_loss.result())
""")


def test_a_metric_that_training_uses_too_is_left_alone():
    head = TRAINING.replace("    print", "        metric.update_state(y, loss)\n    print")
    body = "metric.reset_state()\nfor a, b in val:\n    metric.update_state(b, model(a))\n"
    assert changed_validation_loops(body + "print(metric.result())\n", head=head) is None


def test_metrics_of_the_test_step_are_not_shown_without_it():
    head = STEPS + "for epoch in range(9):\n    for x, y in train:\n        train_step(x, y)\n"
    body = "for a, b in val:\n    test_step(a, b)\nreport(test_loss)\n"
    assert changed_validation_loops(body, head=head) is None


@pytest.mark.parametrize(
    ("body", "more"),
    [
        pytest.param("for x, y in val:\n    l = test(x, y)\nif l < best:\n    break\n", "",
                     id="the training ends by it"),
        pytest.param("for x, y in val:\n    l = test(x, y)\n", "print(l)\n",
                     id="it is read after the training"),
        pytest.param("for x, y in val:\n    losses.append(test(x, y))\nl = np.mean(losses)\n",
                     "plot(l)\n", id="a result of it is read after the training"),
        pytest.param("for x, y in val:\n    total += test(x, y)\n", "", id="it sums up"),
        pytest.param("for x, y in val:\n    seen[0] = test(x, y)\n", "", id="it sets an entry"),
        pytest.param("for x, y in val:\n    test(x, y)\nuse(x)\n", "", id="its last batch is used"),
    ],
)  # fmt: skip
def test_a_loop_is_left_alone_where_validation_loops(body, more):
    assert changed_validation_loops(body, more) is None


def test_a_loop_that_nothing_counts_is_left_alone():
    assert (
        changed_validation_loops(
            "for x, y in val:\n    test(x, y)\n", head="while True:\n    train()\n"
        )
        is None
    )
