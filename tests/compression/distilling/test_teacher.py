"""What a student learns by from a teacher: the loss, number by number."""

import numpy as np
import pytest

from compression import models
from compression.distilling.pupils import ending, question
from quickfit.compression.calibration import samples_of
from quickfit.compression.distilling.heads import split_logits
from quickfit.compression.distilling.teacher import LABEL_SHARE, check_pair, distiller_model
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

X, Y = question(16)


def soft(logits, temperature):
    raised = np.exp(np.asarray(logits, "float64") / temperature)
    return raised / raised.sum(-1, keepdims=True)


def loss_of(student, teacher, kinds, loss, labels, weights=None):
    """Return the loss of one batch, and the models it came from."""
    own, other = split_logits(student), split_logits(teacher)
    own.whole.compile(loss=loss)
    trainer = distiller_model(own, other, kinds, 2.0)
    trainer.compile("sgd", loss="mse")
    found = trainer.compute_loss(X, labels, own.logits(X), weights)
    return float(found), own, other


def test_classes_are_taught_by_soft_probabilities_and_by_labels():
    student, teacher = ending("dense"), models.settled(ending("layer"), 1)
    found, own, other = loss_of(student, teacher, ["softmax"], "sparse_categorical_crossentropy", Y)
    wanted, given = (soft(one.logits(X), 2.0) for one in (other, own))
    by_teacher = 2.0**2 * np.mean((wanted * np.log(wanted / given)).sum(-1))
    by_labels = -np.log(soft(own.logits(X), 1.0)[np.arange(16), Y]).mean()
    assert found == pytest.approx(
        (1 - LABEL_SHARE) * by_teacher + LABEL_SHARE * by_labels, rel=1e-4
    )


def test_a_student_that_answers_as_its_teacher_learns_from_labels_alone():
    student = ending("dense")
    found, own, _ = loss_of(student, student, ["softmax"], "sparse_categorical_crossentropy", Y)
    by_labels = -np.log(soft(own.logits(X), 1.0)[np.arange(16), Y]).mean()
    assert found == pytest.approx(LABEL_SHARE * by_labels, rel=1e-4)


def test_yes_and_no_are_taught_one_by_one():
    student, teacher = ending("sigmoid"), models.settled(ending("sigmoid"), 1)
    labels = (Y > 0).astype("float32")[:, None]
    found, own, other = loss_of(student, teacher, ["sigmoid"], "binary_crossentropy", labels)
    wanted, given = (1 / (1 + np.exp(-np.asarray(one.logits(X)) / 2)) for one in (other, own))
    by_teacher = -4 * np.mean(wanted * np.log(given) + (1 - wanted) * np.log(1 - given))
    answers = 1 / (1 + np.exp(-np.asarray(own.logits(X))))
    by_labels = -np.mean(labels * np.log(answers) + (1 - labels) * np.log(1 - answers))
    assert found == pytest.approx(0.5 * by_teacher + 0.5 * by_labels, rel=1e-3)


def test_values_are_taught_as_they_are():
    student, teacher = ending("logits"), models.settled(ending("logits"), 1)
    found, own, other = loss_of(student, teacher, ["values"], "mse", np.zeros((16, 3)))
    values, wanted = np.asarray(own.logits(X)), np.asarray(other.logits(X))
    expected = 0.5 * np.mean((wanted - values) ** 2) + 0.5 * np.mean(values**2)
    assert found == pytest.approx(expected, rel=1e-4)


def test_sample_weights_and_regularizers_count():
    import keras

    plain = ending("dense")
    found = loss_of(plain, plain, ["softmax"], "sparse_categorical_crossentropy", Y, np.zeros(16))
    assert found[0] == pytest.approx(0.0, abs=1e-6)
    plain.get_layer("first").kernel_regularizer = keras.regularizers.L2(0.5)
    plain.get_layer("first").kernel.regularizer = keras.regularizers.L2(0.5)
    found = loss_of(plain, plain, ["softmax"], "sparse_categorical_crossentropy", Y, np.zeros(16))
    squares = float(np.sum(np.asarray(plain.get_layer("first").kernel) ** 2))
    assert found[0] == pytest.approx(LABEL_SHARE * 0.5 * squares, rel=1e-4)


def test_several_outputs_are_taught_together():
    import keras

    inputs = keras.Input((4,))
    kind = keras.layers.Dense(3, activation="softmax", name="kind")(inputs)
    size = keras.layers.Dense(1, name="size")(inputs)
    model = models.settled(keras.Model(inputs, {"kind": kind, "size": size}))
    losses = {"kind": "sparse_categorical_crossentropy", "size": "mse"}
    labels = {"kind": Y, "size": np.zeros((16, 1))}
    found, own, _ = loss_of(model, model, ["softmax", "values"], losses, labels)
    answers = {name: np.asarray(one) for name, one in own.whole(X).items()}
    by_labels = -np.log(answers["kind"][np.arange(16), Y]).mean() + np.mean(answers["size"] ** 2)
    assert found == pytest.approx(LABEL_SHARE * by_labels, rel=1e-4)


def test_an_old_keras_is_told(monkeypatch):
    import keras

    monkeypatch.delattr(keras, "distillation")
    with pytest.raises(ModelError, match=r"needs Keras 3.12 or newer, and this is"):
        distiller_model(
            split_logits(ending("dense")), split_logits(ending("dense")), ["softmax"], 2.0
        )


def check(student, teacher, kind="softmax"):
    check_pair(
        split_logits(student), split_logits(teacher), [kind], samples_of(student, question(8)[0])
    )


@pytest.mark.parametrize("end", ["layer", "operation", "logits"])
def test_another_end_is_no_obstacle(end):
    check(ending("dense"), ending(end))


def test_another_input_is_told():
    with pytest.raises(ModelError, match=r"its inputs are \[\(None, 8, 8, 3\)\], and the stud"):
        check(ending("dense"), models.residual())


def test_another_number_of_classes_is_told():
    with pytest.raises(ModelError, match=r"'other' does not fit the student 'pupil': its outputs"):
        check(ending("dense"), ending("sigmoid", name="other"))


def test_an_output_that_nobody_knows_is_told():
    with pytest.raises(ModelError, match="at the output 'head' cannot be known"):
        check(ending("logits"), ending("logits"), "unknown")


def test_yes_or_no_cannot_be_learned_from_one_of_many():
    with pytest.raises(ModelError, match="the student's answer is sigmoid and the teacher's is s"):
        check(ending("logits"), ending("dense"), "sigmoid")


@pytest.mark.parametrize("who", ["student", "teacher"])
def test_probabilities_whose_logits_cannot_be_reached_are_refused(who):
    hidden, plain = ending("hidden", name="veiled"), ending("dense")
    pair = (hidden, plain) if who == "student" else (plain, hidden)
    with pytest.raises(ModelError, match="The output 'own' of 'veiled' is probabilities"):
        check(*pair)
