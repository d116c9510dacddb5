"""Whether others on the machine, and not the input, are why the steps wait."""

from quickfit.signals.crowding import is_crowded_out

from builders import run

WAITING = {"step_s": 0.1, "input_wait_s": 0.05}


def test_alone_on_the_machine_a_wait_is_the_inputs_own():
    assert not is_crowded_out(run(**WAITING, map_s=0.04))


def test_beside_others_a_light_input_would_hide_behind_the_model():
    others = {"other_cores": 1.0, "cpu_cores": 1.0, "input_cores": 0.8}
    assert is_crowded_out(run(**WAITING, map_s=0.04, **others))


def test_a_heavy_input_is_the_limit_beside_others_too():
    others = {"other_cores": 1.0, "cpu_cores": 1.0, "input_cores": 0.8}
    assert not is_crowded_out(run(**WAITING, map_s=0.14, **others))


def test_where_the_model_takes_the_cpu_the_input_starves():
    others = {"other_cores": 1.0, "cpu_cores": 1.0, "input_cores": 0.2}
    assert is_crowded_out(run(**WAITING, map_s=0.14, **others))
