"""The program of a trial's process tells what went wrong, whatever it is."""

import pytest

from quickfit.tuning.trials.answers import Failure, TrialFailed

from tuning.trials.stand_ins import child

PROGRAM = "from quickfit.tuning.trials.child import main; main(commands, answers)"


def test_an_error_of_any_kind_is_an_answer(tmp_path):
    made = child(tmp_path, PROGRAM)
    made.send({"recipe": {"kind": "nonsense"}})
    with pytest.raises(TrialFailed, match="'nonsense' is not a valid Kind") as caught:
        made.receive(60.0)
    assert caught.value.failure is Failure.ERROR


def test_the_users_code_sees_no_arguments_of_ours(tmp_path):
    # The order comes after the arguments are hidden; its reading fails and is told.
    body = f"""
import quickfit.tuning.trials.child as program
program.read_order = lambda plain: sys.exit(str(sys.argv))
{PROGRAM}
"""
    made = child(tmp_path, body)
    made.send({})
    with pytest.raises(TrialFailed, match=r"\['quickfit'\]"):
        made.receive(60.0)
