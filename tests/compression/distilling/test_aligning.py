"""Students and teachers that do not fit together."""

import pytest

from compression import models
from compression.distilling.pupils import ending, question
from quickfit.compression.calibration import samples_of
from quickfit.compression.distilling.aligning import check_pair
from quickfit.compression.distilling.splitting import split
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def check(student, teacher, kind="softmax"):
    check_pair(split(student), split(teacher), [kind], samples_of(student, question(8)[0]))


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
