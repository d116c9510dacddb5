from quickfit.tuning.batches.load import OtherLoad, machine_busy_s


class Counter:
    busy_s = 100.0

    def __call__(self):
        return self.busy_s


def load_with(busy_s, *, wall_s=2.0, own_s=2.0, **kwargs):
    counter = Counter()
    load = OtherLoad(counter, **{"cores": 2, "elsewhere": 0, **kwargs})
    load.begin()
    counter.busy_s += busy_s
    load.end(wall_s=wall_s, own_s=own_s)
    return load


def test_what_others_used_is_what_is_left_of_the_machine():
    load = load_with(4.6)
    assert load.is_busy
    assert load.words == "other programs kept 1.3 of 2 cores busy meanwhile"


def test_a_machine_of_our_own_is_quiet():
    load = load_with(2.1)
    assert not load.is_busy
    assert load.words == "the machine was otherwise quiet"


def test_cores_that_are_not_ours_are_not_in_our_way():
    assert not load_with(22.0, elsewhere=10).is_busy


def test_too_short_a_time_says_nothing():
    load = load_with(1.0, wall_s=0.1, own_s=0.1)
    assert load.other_cores is None
    assert load.words == ""
    assert not load.is_busy


def test_the_counter_of_the_machine_is_read():
    assert machine_busy_s() > 0
