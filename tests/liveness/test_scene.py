"""A scene: what is known of a run at one moment."""

from quickfit.findings import Location
from quickfit.liveness.scene import Frame, Scene, Thread
from scenes import SCRIPT, library, making, scene, thread, user


def test_a_place_has_the_text_of_its_line():
    assert scene().at(SCRIPT, 1) == Location(SCRIPT, 1, "import tensorflow as tf")


def test_a_place_without_a_known_text_is_still_a_place():
    assert scene().at("/other.py", 3) == Location("/other.py", 3, "")
    assert scene().at(SCRIPT, 10**6) == Location(SCRIPT, 10**6, "")
    assert scene().at(SCRIPT, 0) == Location(SCRIPT, 0, "")


def test_nothing_is_nowhere():
    assert scene().at(None, 3) is None
    assert scene().at(SCRIPT, None) is None
    assert scene().place(None) is None


def test_the_innermost_frame_of_the_users_is_the_one_that_counts():
    inner, outer = user("image = load(path)"), user("model.fit(", "<module>")
    assert thread("main", library("a.py"), inner, library("b.py"), outer).user_frame == inner
    assert thread("main", library("a.py")).user_frame is None


def test_a_thread_is_inside_a_function_of_a_file():
    one = thread("main", Frame("/usr/keras/trainer.py", 1, "fit", False))
    assert one.is_inside("fit")
    assert one.is_inside("fit", "/trainer.py")
    assert not one.is_inside("fit", "/other.py")
    assert not one.is_inside("evaluate")


def test_threads_are_found_by_what_they_do():
    main, maker = thread("main", user("import")), making(user("image = load(path)"))
    given = scene(threads=(maker, main))
    assert given.main is main
    assert given.makers == (maker,)


def test_an_empty_scene_knows_nothing():
    empty = Scene(0.0, 3.0)
    assert (empty.main, empty.makers, empty.loop, empty.machine.cores) == (None, (), None, None)
    assert Thread("main", ()).user_frame is None
