"""The variables of a function are read, and what it drops later is gone at once."""

import sys
import threading
import weakref

from quickfit.probes._frame_locals import read_locals


class Iterator:
    """Something that ends when its last reference goes."""


def this_frame():
    """Return the frame of the caller; `sys._getframe` in a function would exempt it."""
    frame = sys._current_frames()[threading.get_ident()].f_back
    assert frame is not None
    return frame


def test_what_a_function_drops_after_it_was_read_is_gone():
    def fit():
        iterator, epochs = Iterator(), 3
        seen = weakref.ref(iterator)
        found = read_locals(this_frame())
        is_read = found["iterator"] is iterator and found["epochs"] == epochs
        del found, iterator
        return is_read, seen()

    assert fit() == (True, None)


def test_a_variable_that_others_use_is_read_like_any_other():
    def fit():
        epochs = 3
        assert read_locals(this_frame())["epochs"] == 3
        assert read_locals(this_frame())["epochs"] == 3
        epochs += 1
        return lambda: epochs

    assert fit()() == 4


def test_a_function_that_asks_for_its_locals_finds_them():
    def fit():
        epochs = 3
        settings = locals()
        assert read_locals(this_frame())["epochs"] == epochs
        return settings

    assert fit()["epochs"] == 3


def test_the_names_of_a_module_stay():
    names = {"frame": this_frame, "epochs": 3}
    exec("found = frame()", names)
    read_locals(names["found"])
    assert names["epochs"] == 3


def test_a_function_that_is_traced_keeps_its_variables():
    steps = []

    def trace(frame, event, argument):
        if frame.f_code is fit.__code__:
            steps.append(event)
            read_locals(frame)
            return trace
        return None

    def fit():
        epochs = 3
        epochs += 1
        return epochs

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert fit() == 4
    finally:
        sys.settrace(before)
    assert "line" in steps
