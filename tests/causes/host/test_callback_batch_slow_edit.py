"""Edits of callbacks that work on every batch."""

import textwrap

import pytest

from quickfit.causes.host.callback_batch_slow.edit import seldom_hook, seldom_lambda, seldom_written
from quickfit.code import Program
from quickfit.code.edits import apply_edits
from quickfit.findings import FixClass

CLASS = """\
import keras


class Log(keras.callbacks.Callback):
    def __init__(self, path):
        super().__init__()
        self.path = path
        self.rows = []

    def on_train_batch_end(self, batch, logs=None):
{}
"""


def project(text):
    return Program(texts={"train.py": textwrap.dedent(text)})


def hook(body, more=""):
    return CLASS.format(textwrap.indent(textwrap.dedent(body), " " * 8)) + more


def changed(text, line=11):
    found = project(text)
    change = seldom_hook(found.find_module("train.py"), line, found)
    return change and apply_edits(found.find_module("train.py").text, change.edits)


def test_a_hook_returns_at_once_on_most_batches():
    text = hook('"""Keep weights."""\n# all of them\nself.rows.append(self.model.get_weights())')
    assert changed(text) == text.replace(
        "        # all", "        if batch % 50:\n            return\n        # all"
    )


def test_a_counter_goes_on_counting():
    text = hook("self.seen += 1\ndump(self.rows, self.seen)")
    assert changed(text) == text.replace(
        "        dump", "        if batch % 50:\n            return\n        dump"
    )


def test_only_the_slow_statement_is_seldom_where_the_rest_counts():
    text = hook("self.rows.append(logs['loss'])\nself.total += 1\nplot(self.rows)  # slow")
    assert changed(text, 13) == text.replace(
        "        plot", "        if batch % 50 == 0:\n            plot"
    )


def test_the_training_is_the_same():
    found = project(hook("self.rows.append(logs['loss'])"))
    change = seldom_hook(found.find_module("train.py"), 11, found)
    assert change.kind is FixClass.SAME_RESULTS
    assert "fewer entries" in change.note


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("self.model.evaluate(x, y)", id="metrics are begun anew"),
        pytest.param("self.rows.append(np.random.rand())", id="random numbers are drawn"),
        pytest.param("track(self.model)", id="somebody else gets the model"),
    ],
)
def test_results_may_change_where(body):
    found = project(hook(body))
    change = seldom_hook(found.find_module("train.py"), 11, found)
    assert change.kind is FixClass.MAY_CHANGE_RESULTS


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(hook("if logs['loss'] > 9:\n    self.model.stop_training = True"),
                     id="it may end the training"),
        pytest.param(hook("self.model.optimizer.learning_rate.assign(0.1)"), id="it sets a rate"),
        pytest.param(hook("self.model.optimizer.learning_rate = 0.1"), id="it sets an attribute"),
        pytest.param(hook("self.model.set_weights(w)"), id="it sets weights"),
        pytest.param(hook("change(self.model)", "\n\ndef change(m):\n    m.set_weights(w)\n"),
                     id="a function it calls sets weights"),
        pytest.param(hook("self.rows.append(1)", "\n    def on_epoch_end(self, epoch, logs=None):\n"
                          "        self.model.stop_training = len(self.rows) > 9\n"),
                     id="another hook decides by what it keeps"),
        pytest.param(hook("if np.isnan(logs['loss']):\n    raise ValueError"), id="it may fail"),
        pytest.param(hook("if batch % 10 == 0:\n    dump(logs)"), id="it has its own interval"),
        pytest.param(hook("self.total += logs['loss']\ndump(self.total)"), id="it sums up"),
        pytest.param(hook("self.bar.update(1)"), id="it moves a progress bar"),
        pytest.param(hook("self.average = 0.9 * self.average + logs['loss']\ndump(self.average)"),
                     id="it goes on from the batch before"),
        pytest.param(hook("now = time.time()\nself.rows.append(now - self.last)\nself.last = now"),
                     id="it takes the time since the last batch"),
        pytest.param(hook("super().on_train_batch_end(batch, logs)\ndump(logs)"),
                     id="it has to call what it inherits"),
        pytest.param(hook("self.rows.append(1)", "\n\nplt.plot(range(steps), log.rows)\n"),
                     id="what it keeps is drawn against all steps"),
        pytest.param(hook("self.rows.append(1)", "\n\nnp.array(log.rows).reshape(epochs, -1)\n"),
                     id="what it keeps has a row per epoch"),
        pytest.param(hook("dump(logs)").replace("self, batch, logs=None", "self, *args"),
                     id="the batch has no name"),
        pytest.param(hook("dump(logs)").replace("callbacks.Callback", "callbacks.EarlyStopping"),
                     id="it is a callback that decides"),
        pytest.param(hook("dump(logs)").replace("on_train_batch_end", "on_epoch_end"),
                     id="it works on epochs"),
    ],
)  # fmt: skip
def test_a_hook_is_left_alone_where(text):
    assert changed(text) is None


PUSH = """\
def push(batch, logs):
    with open(path, "w") as file:
        json.dump(logs, file)


tracker = LambdaCallback(on_train_batch_end=push)
"""


def test_a_function_that_is_a_hook_returns_at_once_on_most_batches():
    assert changed(PUSH, 3) == PUSH.replace(
        "    with", "    if batch % 50:\n        return\n    with"
    )


def test_a_function_that_is_called_elsewhere_too_is_left_alone():
    assert changed(PUSH + "push(0, {})\n", 3) is None


def test_a_lambda_works_on_every_nth_batch():
    found = project("cb = LambdaCallback(on_train_batch_end=lambda batch, logs: send(logs))\n")
    change = seldom_lambda(found)
    assert apply_edits(found.find_module("train.py").text, change.edits) == (
        "cb = LambdaCallback(on_train_batch_end="
        "lambda batch, logs: send(logs) if batch % 50 == 0 else None)\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("LambdaCallback(on_epoch_end=lambda e, logs: send(logs))\n", id="epochs"),
        pytest.param("LambdaCallback(on_batch_end=lambda b, l: model.set_weights(w))\n", id="sets"),
        pytest.param("LambdaCallback(on_batch_end=lambda b, l: x if b else y)\n", id="it decides"),
    ],
)
def test_a_lambda_is_left_alone_where(text):
    assert seldom_lambda(project(text)) is None


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ('TensorBoard("logs", update_freq="batch")\n', 'TensorBoard("logs", update_freq=100)\n'),
        ("TensorBoard(d, update_freq=1)\n", "TensorBoard(d, update_freq=100)\n"),
        ("N = 2\nTensorBoard(d, update_freq=N)\n", "N = 100\nTensorBoard(d, update_freq=N)\n"),
        ('WandbMetricsLogger(log_freq="batch")\n', "WandbMetricsLogger(log_freq=100)\n"),
    ],
)
def test_a_logger_writes_less_often(before, wanted):
    found = project(before)
    change = seldom_written(found)
    assert apply_edits(before, change.edits) == wanted
    assert change.kind is FixClass.SAME_RESULTS


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('TensorBoard(d, update_freq="epoch")\n', id="it writes epochs"),
        pytest.param("TensorBoard(d)\n", id="it says nothing"),
        pytest.param("TensorBoard(d, update_freq=1)\nTensorBoard(e, update_freq=1)\n", id="two"),
        pytest.param("TensorBoard(d, update_freq=500)\n", id="it writes seldom"),
    ],
)
def test_a_logger_is_left_alone_where(text):
    assert seldom_written(project(text)) is None
