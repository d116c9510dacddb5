"""How the losses of Keras compare labels with predictions of another rank."""

import pytest

from quickfit.findings import Effect
from quickfit.shapes.loss_rules import Kind, Loss, aligned, compiled_loss, judged

from programs import program_of

SUM, EQUAL, SPARSE = (Loss("", kind) for kind in (Kind.STRETCHES, Kind.EQUAL, Kind.SPARSE))
HAND = Loss("", Kind.STRETCHES, aligns=False)


@pytest.mark.parametrize(
    ("loss", "labels", "predictions", "effect"),
    [
        (SUM, (8,), (8, 1), None),
        (SUM, (8, 1), (8, 1), None),
        (SUM, (8, 5), (8, 5, 1), None),
        (SUM, (8,), (8, 5, 5, 1), Effect.WRONG),
        (SUM, (None,), (None, 5, 1), Effect.WRONG),
        (SUM, (1,), (1, 5, 5, 1), None),
        (SUM, (8,), (8, 3), Effect.CRASHES),
        (SUM, (3,), (3, 3), Effect.WRONG),
        (SUM, (None,), (None, 3), None),
        (SUM, (8,), (8, None), None),
        (SUM, (8, 1), (8, 5, 5, 1), Effect.CRASHES),
        (SUM, (8, 1), (8, None, None, 1), None),
        (SUM, (8, 5, 5, 1), (8, 1), Effect.CRASHES),
        (HAND, (8,), (8, 1), Effect.WRONG),
        (HAND, (8, 1), (8,), Effect.WRONG),
        (HAND, (1,), (1, 1), None),
        (EQUAL, (8,), (8, 1), None),
        (EQUAL, (8,), (8, 3), Effect.CRASHES),
        (EQUAL, (8,), (8, None), None),
        (EQUAL, (8,), (8, None, 1), Effect.CRASHES),
        (EQUAL, (8, 3), (8, 3), None),
        (SPARSE, (8,), (8, 3), None),
        (SPARSE, (8, 1), (8, 3), None),
        (SPARSE, (8,), (8, 1), None),
        (SPARSE, (8, 3), (8, 3), Effect.CRASHES),
        (SPARSE, (8, None), (8, 3), None),
        (SPARSE, (8,), (8, 5, 3), Effect.CRASHES),
        (SPARSE, (8, 5), (8, 5, 3), None),
        (SPARSE, (8, 5, 5, 1), (8, 5, 5, 3), None),
    ],
)
def test_judges(loss, labels, predictions, effect):
    assert judged(loss, labels, predictions) is effect


def test_aligns_a_side_of_one_only():
    assert aligned((8,), (8, 1)) == ((8, 1), (8, 1))
    assert aligned((8, 1), (8,)) == ((8, 1), (8, 1))
    assert aligned((8, 5), (8, 5, 1)) == ((8, 5), (8, 5))
    assert aligned((8, 5, 1), (8, 5)) == ((8, 5), (8, 5))
    assert aligned((8,), (8, 3)) == ((8,), (8, 3))
    assert aligned((8,), (8, None)) is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("'mse'", Kind.STRETCHES),
        ("'MeanSquaredError'", Kind.STRETCHES),
        ("keras.losses.Huber(delta=2.0)", Kind.STRETCHES),
        ("keras.losses.mean_squared_error", Kind.STRETCHES),
        ("tf.keras.losses.MSE", Kind.STRETCHES),
        ("'binary_crossentropy'", Kind.EQUAL),
        ("keras.losses.CategoricalCrossentropy(from_logits=True)", Kind.EQUAL),
        ("keras.losses.SparseCategoricalCrossentropy()", Kind.SPARSE),
    ],
)
def test_knows_the_loss(code, kind):
    assert loss_of(code).kind is kind


@pytest.mark.parametrize(
    "code",
    [
        "'crossentropy'",
        "keras.losses.Dice()",
        "keras.losses.SparseCategoricalCrossentropy(ignore_class=0)",
        "something",
        "['mse', 'mae']",
        "keras.losses.MeanSquaredError",
    ],
)
def test_does_not_know_the_loss(code):
    assert loss_of(code) is None


def loss_of(code):
    program = program_of(f"import keras\nimport tensorflow as tf\nmodel.compile(loss={code})\n")
    module = program.module("/project/train.py")
    (call,) = module.calls("compile")
    return compiled_loss(program, module, call.keywords[0].value)
