"""The line whose time grows, not the one that takes most."""

from drift_runs import GENERATOR_LINE, GROWN_LINE, HOST_LINE, SCRIPT, drifting, flat, rising
from quickfit.signals.drift_lines import (
    grown_input_line,
    grown_line,
    in_batch_hook,
    in_host_code,
    in_model,
    in_tensorflow,
)
from quickfit.signals.host import Frame

LAYER = Frame("/usr/lib/python3.11/site-packages/keras/src/layers/layer.py", 1, "__call__", False)
USER = Frame(SCRIPT, HOST_LINE, "<module>", True)


def test_the_line_of_the_callback_that_grows_is_found():
    line = grown_line(drifting(callbacks=rising(0.001, 0.02, 600)), in_batch_hook)
    assert line.location.line == GROWN_LINE
    assert line.last_s > 3 * line.first_s


def test_a_large_line_that_stays_the_same_is_not_it():
    signals = drifting(kind="custom", between=rising(0.001, 0.01, 600), call=flat(0.05))
    line = grown_line(signals, lambda frames: True)
    assert line.location.line == HOST_LINE


def test_the_line_of_the_input_is_found_on_its_threads():
    line = grown_input_line(drifting(input=rising(0.005, 0.04, 600)))
    assert line.location.line == GENERATOR_LINE


def test_nothing_that_grows_is_no_line():
    assert grown_line(drifting(), in_batch_hook) is None


def test_a_model_that_computes_is_not_code_of_the_script():
    assert in_model((LAYER, USER))
    assert not in_host_code((LAYER, USER))
    assert in_host_code((USER,))
    assert not in_model((USER, LAYER))


def test_tensorflow_below_the_users_line_is_seen():
    assert in_tensorflow((LAYER, USER))
    assert not in_tensorflow((USER, LAYER))
