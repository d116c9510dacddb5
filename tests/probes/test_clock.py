"""The clock speed, where the system shows it."""

from quickfit.probes import clock
from quickfit.probes.clock import EVERY, Clock


def shown(monkeypatch, folder, *speeds):
    """Let the system show the speeds of some cores, in kilohertz."""
    for core, speed in enumerate(speeds):
        (folder / str(core)).write_text(f"{speed}\n")
    monkeypatch.setattr(clock, "_PATH", str(folder / "{}"))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(len(speeds))), raising=False)


def test_the_fastest_core_is_told(monkeypatch, tmp_path):
    shown(monkeypatch, tmp_path, 800_000, 3_400_000)
    assert Clock().hz() == 3.4e9


def test_it_is_asked_every_fourth_time(monkeypatch, tmp_path):
    shown(monkeypatch, tmp_path, 3_400_000)
    watched = Clock()
    assert watched.hz() == 3.4e9
    (tmp_path / "0").write_text("2000000\n")
    assert [watched.hz() for _ in range(EVERY)] == [*[3.4e9] * (EVERY - 1), 2.0e9]


def test_a_few_of_many_cores_are_asked(monkeypatch, tmp_path):
    shown(monkeypatch, tmp_path, *range(1_000_000, 1_000_064))
    assert len(Clock()._files) == clock.MAX_CORES


def test_a_system_that_shows_nothing_gives_none(monkeypatch, tmp_path):
    monkeypatch.setattr(clock, "_PATH", str(tmp_path / "{}"))
    assert Clock().hz() is None


def test_nonsense_gives_none(monkeypatch, tmp_path):
    shown(monkeypatch, tmp_path, "<unknown>")
    assert Clock().hz() is None
