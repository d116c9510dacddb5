import pytest

from quickfit.tuning.batch_size.trial_pool import SearchOutOfTime, TrialPool
from quickfit.tuning.trials.resources import OtherLoad
from quickfit.tuning.trials.settings import Setting, TrialFailed, TrialFailure

from launch.sessions import PATIENCE_S
from tuning.batch_size.machines import GB, FakeTrial, Machine, out_of_memory

OWN = Setting(in_memory=True)


def crew_on(machine, limit_bytes=10 * GB, begin=None):
    load = OtherLoad(lambda: 0.0, cores=2, elsewhere=0)
    clock = {"clock": lambda: machine.now_s}
    return TrialPool(begin or machine.begin, limit_bytes, load, left_s=lambda: 1000.0, **clock)


def test_the_first_trial_tells_what_it_really_feeds():
    machine = Machine(own=24)
    crew = crew_on(machine)
    assert crew.first(OWN).batch == 24
    assert crew.alive == [24]
    assert machine.started == [OWN]


def test_rounds_go_forwards_and_backwards():
    order = []

    class Noting(FakeTrial):
        def run(self, steps):
            order.append(self.batch)
            return super().run(steps)

    machine = Machine()
    crew = crew_on(machine, begin=lambda setting, patience_s: Noting(machine, setting, 1))
    crew.start([8, 16], 20)
    assert crew.round()
    assert crew.round()
    assert order == [8, 16, 16, 8]
    assert len(crew.rows[8].steps_s) == 2


def test_a_round_ends_where_there_is_no_more_time():
    machine = Machine()
    crew = crew_on(machine)
    crew.start([8, 16], 20)
    assert not crew.round(has_time=lambda seconds: not crew.rows[8].steps_s)
    assert not crew.rows[16].steps_s
    crew.close()
    assert crew.rows[16].words == "started, but the time was over before it was measured"


def test_a_size_that_fails_leaves_the_others_alone():
    machine = Machine(failures={16: out_of_memory()})
    crew = crew_on(machine)
    crew.start([8, 16, 32], 20)
    assert crew.alive == [8, 32]
    assert crew.rows[16].failure is TrialFailure.OUT_OF_MEMORY
    assert crew.rows[16].words.startswith("out of memory: memory ran out")
    assert len(machine.alive) == 2


def test_a_trial_that_fails_in_its_turn_is_ended():
    class Failing(FakeTrial):
        def run(self, steps):
            raise out_of_memory()

    machine = Machine()
    crew = crew_on(machine, begin=lambda setting, patience_s: Failing(machine, setting, 1))
    crew.start([8], 20)
    crew.round()
    assert crew.rows[8].failure is TrialFailure.OUT_OF_MEMORY
    assert not machine.alive


def test_a_trial_that_holds_more_than_the_limit_counts_as_out_of_memory():
    machine = Machine(held_bytes=lambda batch: 2 * GB)
    crew = crew_on(machine, limit_bytes=GB)
    crew.start([8], 20)
    crew.round()
    assert crew.rows[8].words == "out of memory: it held 2.0 GB, and 1.0 GB is the limit"


def test_a_size_that_the_data_do_not_fill_is_not_counted():
    machine = Machine(samples=20)
    crew = crew_on(machine)
    crew.start([32], 20)
    assert crew.rows[32].words == "not tried: the data gave batches of 20"
    assert not crew.alive
    assert not machine.alive


def test_a_trial_that_is_ended_for_time_is_no_failure():
    class Slow(FakeTrial):
        def ready(self):
            # What is left is nothing: the timer ends it, and the trial tells that it died.
            assert crew_over.wait(PATIENCE_S)
            raise TrialFailed(TrialFailure.CRASHED, "the process was ended by SIGKILL")

    machine = Machine()
    crew = crew_on(machine, begin=lambda setting, patience_s: Slow(machine, setting, 1))
    crew_over = _watched(crew)
    crew.start([8], 20)
    assert crew.rows[8].failure is None
    assert crew.rows[8].words == "started, but the time was over before it was measured"
    with pytest.raises(SearchOutOfTime):
        crew.first(OWN)


def _watched(crew):
    """Return the event of a moment after the crew's deadline has passed."""
    import threading

    over = threading.Event()

    class Told:
        @property
        def pid(self):
            over.set()

    FakeTrial.pid = Told.pid
    crew._left_s = lambda: 0.0
    return over


@pytest.fixture(autouse=True)
def _pid():
    yield
    FakeTrial.pid = None


def test_alone_ends_all_others_first():
    machine = Machine()
    crew = crew_on(machine)
    crew.start([8, 16], 20)
    crew.round()
    row = crew.alone(Setting(batch=16), 16, rounds=3)
    assert len(row.steps_s) == 3
    assert not machine.alive
    assert crew.rows[8].is_measured


def test_alone_tells_when_it_holds_too_much():
    machine = Machine(held_bytes=lambda batch: 2 * GB)
    with pytest.raises(TrialFailed, match=r"it held 2\.0 GB"):
        crew_on(machine, limit_bytes=GB).alone(Setting(batch=16), 16, rounds=3)


def test_the_time_of_a_step_is_guessed_from_the_nearest_size():
    machine = Machine(step_s=lambda batch: 0.01 * batch)
    crew = crew_on(machine)
    crew.start([8, 64], 20)
    assert crew.step_s(128) == pytest.approx(1.28)
    assert crew.step_s(4) == pytest.approx(0.08)


def test_closing_ends_everything_any_number_of_times():
    machine = Machine()
    crew = crew_on(machine)
    crew.start([8, 16], 20)
    crew.close()
    crew.close()
    assert not machine.alive
    assert not crew.alive
