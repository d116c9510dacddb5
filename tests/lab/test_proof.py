"""A change is accepted when its results are what it claims and every pair says it is faster."""

import contextlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from quickfit.findings import Change, Edit, FixClass, Gain
from quickfit.lab import proof as module
from quickfit.lab.budget import Budget
from quickfit.lab.proof import Claim, Prover, _Kept, _repaired
from quickfit.lab.results import Batch, Results
from quickfit.lab.script_pair import PairResult, Scope, Setting
from quickfit.launch.target import Target

SAME, EQUIVALENT = FixClass.SAME_RESULTS, FixClass.EQUIVALENT
REPAIRS, MAY = FixClass.REPAIRS, FixClass.MAY_CHANGE_RESULTS
FASTER = PairResult(1.8, unit="steps", took_s=10.0)


def results(*losses):
    batch = Batch(("a",), ((1,),), ((),), 0)
    kept = {n: {"loss": loss} for n, loss in enumerate(losses, 1)}
    return Results(kept, {n: str(loss) for n, loss in enumerate(losses, 1)}, {"fit": [batch]})


def kept(*losses, failure=""):
    return _Kept(results(*losses), failure, 0)


GOOD = kept(1.0, 0.9)


def claim(kind=SAME, cause="sequential-map", **more):
    change = Change("Do it", kind, (Edit("train.py", (1, 0), (1, 1), "b"),))
    gain = Gain(1.2, 1.5, 2.0, "a guess")
    texts = more.pop("texts", {"train.py": b"b"})
    return Claim(cause, "train.py:1", change, gain, texts, **more)


class Told:
    """A proof with stand-ins for its trials: what they say is given, what is asked is kept."""

    def __init__(self, monkeypatch, tmp_path):
        self.now_s, self.pairs, self.keeps = 0.0, [], {}
        self.settings, self.numbers, self.told, self.rounds = [], [], [], []
        self.edited = GOOD
        self.original = GOOD
        self.kept, self.by_text = [], {}
        self.budget = Budget(300.0, clock=lambda: self.now_s)
        self.setting = Setting(Target(script="train.py"), tmp_path, tmp_path)
        monkeypatch.setattr(module, "measure_round", self.measure)
        monkeypatch.setattr(Prover, "_keep", self.keep)

    def measure(self, versions, setting, *, number, deadline_s, tell):
        self.settings.append(setting)
        self.versions = versions
        self.rounds.append([v.texts.get("train.py", b"a").decode() for v in versions])
        self.numbers.append(number)
        tell("1 s each")
        found = self.pairs.pop(0) if len(self.pairs) > 1 else self.pairs[0]
        self.now_s += found.took_s
        return [self.by_text.get(v.texts["train.py"], found) for v in versions[1:]]

    def keep(self, versions, *, cuts=True):
        self.kept += ["edited" if texts else "original" for texts in versions]
        return [self.edited if texts else self.original for texts in versions]

    def prover(self, **setting):
        return Prover(replace(self.setting, **setting), self.budget, self.told.append)


@pytest.fixture
def told(monkeypatch, tmp_path):
    return Told(monkeypatch, tmp_path)


# -- accepted -----------------------------------------------------------------------------------


def test_pairs_that_agree_and_equal_results_are_accepted(told):
    told.pairs = [FASTER]
    found = told.prover().prove(claim())
    assert found.is_accepted
    assert (found.kind, found.results, found.why) == (SAME, "bit-equal, 2 steps", "")
    assert (found.measured.pairs, found.unit) == (2, "steps")
    assert found.measured.low > 1.05
    assert (found.cause, found.place) == ("sequential-map", "train.py:1")


def test_pairs_are_numbered_so_that_the_start_order_is_swapped(told):
    told.pairs = [FASTER]
    told.prover().prove(claim())
    assert told.numbers == [1, 2]
    assert len({setting.folder for setting in told.settings}) == 2


def test_it_tells_what_it_does(told):
    told.pairs = [FASTER]
    told.prover().prove(claim())
    assert told.told[:3] == [
        *("comparing results", "pair 1, starting both"),
        "pair 1, 1 s each",
    ]


def test_the_original_is_run_once_for_all_candidates_whose_results_are_equal(told):
    told.pairs = [FASTER]
    prover = told.prover()
    prover.prove(claim())
    prover.prove(claim(cause="missing-cache"))
    assert told.kept == ["original", "edited", "edited"]


def test_the_original_is_run_a_second_time_where_results_differ(told):
    told.pairs, told.edited = [FASTER], kept(1.0, 0.90001)
    prover = told.prover()
    prover.prove(claim())
    prover.prove(claim(cause="missing-cache"))
    assert told.kept == ["original", "edited", "original", "edited"]


def test_a_second_run_of_the_original_that_fails_excuses_no_difference(told):
    told.pairs, told.edited = [FASTER], kept(1.0, 9.0)
    prover = told.prover()
    failed = replace(kept(), failure="took 9.1 GB of memory")
    first = [told.original, failed]

    def keep(versions, *, cuts=True):
        return [told.edited if texts else first.pop(0) for texts in versions]

    prover._keep = keep
    found = prover.prove(claim())
    assert not found.is_accepted
    assert found.why == "the original, run once more, took 9.1 GB of memory"


def test_claims_that_were_compared_and_have_no_time_left_say_so(told):
    told.pairs = [FASTER]
    prover = told.prover(together=2)

    def keep(versions, *, cuts=True):
        told.now_s += 145.0
        return [GOOD for _ in versions]

    prover._keep = keep
    found = prover.prove_all([claim(texts={"train.py": b"b"}), claim(texts={"train.py": b"c"})])
    late = "not tried: the time is used up; give more with --budget"
    assert [outcome.why for outcome in found] == [late, late]
    assert told.rounds == []


def test_where_time_is_short_the_first_claims_are_measured_before_others_are_compared(told):
    told.pairs = [FASTER]
    prover = told.prover()
    keep = prover._keep

    def slow(versions, *, cuts=True):
        told.now_s += 110.0
        return keep(versions, cuts=cuts)

    prover._keep = slow
    found = prover.prove_all([claim(cause=name) for name in ("a", "b", "c")])
    assert found[0].is_accepted
    assert found[-1].why == "not tried: the time is used up; give more with --budget"


def test_an_original_that_was_cut_is_run_in_full_where_results_differ(told):
    told.pairs, told.original = [FASTER], replace(GOOD, is_cut=True)
    prover = told.prover()
    prover.prove(claim())
    told.edited, told.original = kept(1.0, 0.90001), GOOD
    prover.prove(claim(cause="missing-cache"))
    assert told.kept == ["original", "edited", "edited", "original", "original"]


def test_candidates_share_the_runs_of_the_original_until_each_is_decided(told):
    told.pairs = [FASTER]
    told.by_text = {b"c": PairResult(1.02, unit="steps", took_s=10.0)}
    claims = [claim(), claim(cause="missing-cache", texts={"train.py": b"c"})]
    settled = []
    prover = told.prover(together=2)
    found = prover.prove_all(claims, lambda number, outcome: settled.append(number))
    assert [outcome.is_accepted for outcome in found] == [True, False]
    assert told.rounds == [["a", "b", "c"], ["a", "b", "c"], ["a", "c"]]
    assert settled == [0, 1]


def test_candidates_that_need_something_else_compared_have_rounds_of_their_own(told):
    told.pairs = [FASTER]
    told.prover(together=2).prove_all([claim(), claim(scope=Scope.RUN)])
    assert [setting.scope for setting in told.settings] == [Scope.STEPS] * 2 + [Scope.RUN] * 2


def test_a_class_is_lowered_to_what_was_seen(told):
    told.pairs, told.edited = [FASTER], kept(1.0, 0.90001)
    found = told.prover().prove(claim())
    assert found.is_accepted
    assert (found.kind, found.change.kind) == (EQUIVALENT, EQUIVALENT)


def test_a_change_on_top_of_others_is_measured_against_them(told):
    told.pairs = [FASTER]
    told.prover().prove(claim(base={"train.py": b"a, fixed"}))
    before, after = told.versions
    assert (before.texts, after.texts) == ({"train.py": b"a, fixed"}, {"train.py": b"b"})


def test_pairs_know_what_is_to_be_compared(told):
    told.pairs = [FASTER]
    told.prover().prove(claim(scope=Scope.TRAINING))
    assert all(setting.scope is Scope.TRAINING for setting in told.settings)


# -- not accepted -------------------------------------------------------------------------------


def test_other_results_are_rejected_before_anything_is_measured(told):
    told.edited = kept(5.0, 6.0)
    found = told.prover().prove(claim())
    assert not found.is_accepted
    assert found.why.startswith("the results are others")
    assert (found.measured, told.numbers) == (None, [])


def test_an_edited_script_that_fails_is_rejected_with_its_reason(told):
    told.edited = kept(failure="ended with exit code 1: NameError: x")
    found = told.prover().prove(claim())
    assert found.why == "the edited script ended with exit code 1: NameError: x"


def test_an_original_that_cannot_be_tried_is_said(told):
    told.original = kept(failure="cannot be tried safely: train.py:9 deletes out")
    found = told.prover().prove(claim())
    assert found.why == "the original cannot be tried safely: train.py:9 deletes out"


def test_no_gain_is_said_after_two_pairs(told):
    told.pairs = [PairResult(0.97, unit="steps", took_s=10.0)]
    found = told.prover().prove(claim())
    assert (found.is_accepted, found.why) == (False, "gains less than 1.05×")
    assert told.numbers == [1, 2]


def test_a_gain_that_is_too_small_is_said(told):
    told.pairs = [PairResult(1.03, took_s=5.0)]
    assert told.prover().prove(claim()).why == "gains less than 1.05×"


def test_pairs_that_do_not_agree_are_measured_again_and_then_called_inconclusive(told):
    told.pairs = [PairResult(r, took_s=5.0) for r in (1.5, 0.9, 1.5, 0.9, 1.5, 1.4)]
    found = told.prover().prove(claim())
    assert told.numbers == [1, 2, 3, 4, 5, 6]
    assert found.why.startswith("inconclusive: it may gain less than 1.05×")


def test_a_pair_that_fails_rejects_it_with_the_reason(told):
    told.pairs = [FASTER, PairResult(None, "the edited script ended by SIGKILL")]
    found = told.prover().prove(claim())
    assert (found.is_accepted, found.why) == (False, "the edited script ended by SIGKILL")


def test_a_first_pair_that_fails_says_why(told):
    told.pairs = [PairResult(None, "the edited script made no step of training within 20 s")]
    found = told.prover().prove(claim())
    assert found.why == "the edited script made no step of training within 20 s"
    assert found.measured is None


def test_without_time_nothing_is_tried(told):
    told.now_s = 290.0
    found = told.prover().prove(claim())
    assert found.why == "not tried: the time is used up; give more with --budget"
    assert told.kept == []


def test_too_little_time_for_two_pairs_is_said(told):
    told.pairs = [PairResult(1.8, took_s=200.0)]
    found = told.prover().prove(claim())
    assert found.why == "the time was used up after 1 of 2 pairs; give more with --budget"
    assert found.measured.pairs == 1


def test_pairs_that_were_not_in_turns_have_a_wider_interval(told):
    told.pairs = [PairResult(r, took_s=5.0) for r in (1.7, 1.8, 1.9)]
    narrow = told.prover().prove(claim()).measured
    told.pairs = [PairResult(r, took_s=5.0) for r in (1.7, 1.8, 1.9)]
    wide = told.prover(in_turns=False).prove(claim()).measured
    assert wide.low < narrow.low < narrow.high < wide.high


# -- repairs ------------------------------------------------------------------------------------


def test_a_repair_of_a_script_that_failed_needs_no_measurement(told):
    told.original = kept(failure="ended with exit code 1: ValueError")
    found = told.prover().prove(claim(REPAIRS))
    assert (found.is_accepted, found.results) == (True, "it trains: 2 steps, loss 0.9")
    assert told.numbers == []


def test_a_repair_is_accepted_also_when_it_is_slower(told):
    told.pairs = [PairResult(0.8, took_s=5.0)]
    found = told.prover().prove(claim(REPAIRS))
    assert found.is_accepted
    assert found.measured.mean == pytest.approx(0.8)


def test_a_repair_whose_original_cannot_be_measured_is_accepted(told):
    told.pairs = [PairResult(None, "the original made no step of training within 90 s")]
    assert told.prover().prove(claim(REPAIRS)).is_accepted


def test_a_repair_that_fails_itself_is_not(told):
    told.pairs = [PairResult(None, "the edited script ended by SIGKILL", is_fault_of_second=True)]
    assert told.prover().prove(claim(REPAIRS)).why == "the edited script ended by SIGKILL"


# -- the trials for results ---------------------------------------------------------------------


@pytest.fixture
def trials(monkeypatch, tmp_path):
    """Let the trials that keep results be stand-ins, by a clock of the test's own."""
    clock = SimpleNamespace(now_s=0.0)
    clock.monotonic = lambda: clock.now_s
    clock.sleep = lambda seconds: setattr(clock, "now_s", clock.now_s + seconds)
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "free_memory_bytes", lambda: 10e9)
    begun = []

    class Trial:
        scratch = tmp_path

        def __init__(self, ends_s):
            self.ends_s, self.why = ends_s, ""
            self.is_over = False

        has_ended = property(lambda self: self.is_over or clock.now_s >= self.ends_s)

        def end(self, why=""):
            self.is_over, self.why = True, self.why or why

        confinement = "own namespaces"
        is_enough = False

        def failure(self):
            return self.why

        def check_memory(self, limit):
            return False

        def read(self):
            return None

    @contextlib.contextmanager
    def started(target, folder, *, cwd, texts, results_steps, trusts_script):
        running = sum(not trial.has_ended for trial in begun)
        begun.append(Trial(clock.now_s + (1e9 if texts else 4.0)))
        assert running < 2
        yield begun[-1]
        begun[-1].end()

    monkeypatch.setattr(module, "started", started)
    return clock, begun


def test_two_trials_run_at_once_and_one_that_hangs_is_ended(trials, tmp_path):
    clock, begun = trials
    setting = Setting(Target(script="train.py"), tmp_path, tmp_path, patience_s=20.0)
    prover = Prover(setting, Budget(1000.0, clock=clock.monotonic))
    first, edited = prover._keep([{}, {"train.py": b"x"}])
    assert len(begun) == 2
    assert first.failure == ""
    assert edited.failure == "did not come to an end of its first steps within 80 s"


def test_the_budget_ends_them_too(trials, tmp_path):
    clock, _ = trials
    setting = Setting(Target(script="train.py"), tmp_path, tmp_path, patience_s=500.0)
    prover = Prover(setting, Budget(30.0, clock=clock.monotonic))
    (edited,) = prover._keep([{"train.py": b"x"}])
    assert edited.failure == "was ended: the time is used up; give more with --budget"
    assert clock.now_s < 31.0


MISSING = "ended with exit code 1: FileNotFoundError: [Errno 2] No such file: 'data/1.png'"


def ended(failure="", *, trains=False, is_over=True):
    found = results(0.5) if trains else Results()
    return _Kept(found, failure, 1 if trains else 0, is_over)


@pytest.mark.parametrize(
    ("edited", "said"),
    [
        pytest.param(ended(trains=True), "it trains", id="it trains"),
        pytest.param(ended(), "it runs to its end", id="a script without training"),
        pytest.param(ended(MISSING), "it says at once what is missing", id="a missing file"),
    ],
)
def test_a_script_that_made_no_step_is_repaired_when(edited, said):
    answer = _repaired(ended("ended with exit code 1: ValueError"), edited)
    assert answer.kind == FixClass.REPAIRS
    assert answer.text.startswith(said)


@pytest.mark.parametrize(
    "edited",
    [
        pytest.param(ended("ended with exit code 1: KeyError"), id="it still crashes"),
        pytest.param(ended(is_over=False), id="it still stands still"),
    ],
)
def test_a_script_that_made_no_step_is_not_repaired_when(edited):
    assert _repaired(ended("stands still: a lock"), edited).kind is None


def test_the_same_missing_file_is_no_repair():
    assert _repaired(ended(MISSING), ended(MISSING)).kind is None
