"""What the probes of one process share."""

import threading

from quickfit.probes._places import Place
from quickfit.probes._state import Loop


def loop(number, **how):
    return Loop(number, "fit", None, 0.0, 0.0, 0, {}, **how)


def test_numbers_are_given_per_kind(state):
    kinds = ("loop", "loop", "dataset", "loop")
    assert [state.new_id(kind) for kind in kinds] == [1, 2, 1, 3]


def test_the_current_loop_is_that_of_the_thread(state):
    mine = state.loop_of_thread[threading.get_ident()] = loop(1)
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(state.current_loop()))
    thread.start()
    thread.join()
    assert state.current_loop() is mine
    assert elsewhere == [None]


def test_a_loop_that_is_over_is_not_active(state):
    state.loops = [loop(1, is_over=True), loop(2)]
    assert [active.id for active in state.active_loops()] == [2]


def test_the_text_of_user_files_is_kept_and_of_no_others(state):
    mine, theirs = Place(__file__, 3, "f"), Place(threading.__file__, 3, "g")
    assert state.source(mine) == mine
    assert state.source(theirs) == theirs
    assert state.source(None) is None
    assert state.writer.sources == [__file__]
