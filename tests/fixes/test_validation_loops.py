"""Edits of loops that validate by hand."""

import textwrap

import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.script import Script
from quickfit.fixes.validation_loops import seldom_loop

TRAINING = """\
for epoch in range(EPOCHS):
    for x, y in train:
        loss = train_step(x, y)
    print(epoch, float(loss))
"""


def changed(body, more="", head=TRAINING):
    text = head + textwrap.indent(textwrap.dedent(body), "    ") + more
    script = Script("train.py", text)
    line = next(number for number, row in enumerate(script.lines, start=1) if " in val" in row)
    change = seldom_loop(script, line)
    assert change is None or change.kind is FixClass.SAME_RESULTS
    return change and patched(text, change.edits).removeprefix(TRAINING)


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
        changed(body)
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
    assert changed(body, head=head).endswith("""\
    if epoch % 5 == 4 or epoch == 8:
        for a, b in val:
            test_step(a, b)
        print(train_loss.result(), test_loss.result())
""")


def test_a_metric_that_training_uses_too_is_left_alone():
    head = TRAINING.replace("    print", "        metric.update_state(y, loss)\n    print")
    body = "metric.reset_state()\nfor a, b in val:\n    metric.update_state(b, model(a))\n"
    assert changed(body + "print(metric.result())\n", head=head) is None


def test_metrics_of_the_test_step_are_not_shown_without_it():
    head = STEPS + "for epoch in range(9):\n    for x, y in train:\n        train_step(x, y)\n"
    body = "for a, b in val:\n    test_step(a, b)\nreport(test_loss)\n"
    assert changed(body, head=head) is None


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
def test_a_loop_is_left_alone_where(body, more):
    assert changed(body, more) is None


def test_a_loop_that_nothing_counts_is_left_alone():
    assert changed("for x, y in val:\n    test(x, y)\n", head="while True:\n    train()\n") is None
