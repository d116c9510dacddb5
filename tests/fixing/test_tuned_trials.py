"""What is tried, in which order, what is spared, and what is chosen in the end."""

from dataclasses import replace

import pytest

from fixing.tuned_runs import (
    BATCH64,
    BATCH128,
    FAST,
    FASTER,
    SAME,
    SLOW,
    STEPS8,
    STEPS32,
    XLA,
    offer,
    outcome,
    tried,
)
from quickfit.code.file_changes import read_source
from quickfit.findings import FixClass
from quickfit.fixing.sources import Sources
from quickfit.fixing.tuned_seen import Seen, TrialFolders
from quickfit.fixing.tuned_trials import (
    LATE,
    OUT_OF_TIME,
    Bench,
    Training,
    best_of_each_kind,
    chosen,
    pays_after,
    that_fit,
    try_all,
    try_together,
    why_not,
)
from quickfit.lab.budget import Budget
from quickfit.tuning.advice.result import ChangeKind


class Proofs:
    """Stands for a machine: answers with ratios by the name of the change, and keeps claims."""

    def __init__(self, ratios):
        self.ratios, self.claims = ratios, []

    def prove(self, claim):
        self.claims.append(claim)
        answer = self.ratios.get(claim.cause, SAME)
        if answer == "interrupt":
            raise KeyboardInterrupt
        low = min(answer, default=0.0)
        why = "" if low >= 1.05 else "gains less than 1.05×"
        return replace(
            outcome(offer(name=claim.cause), *answer, why=why), change=claim.change,
            kind=claim.change.kind,
        )  # fmt: skip


@pytest.fixture
def bench(tmp_path):
    """Return a bench on which changes gain what is said, on a script of three lines."""
    path = tmp_path / "train.py"
    path.write_text("a = 1\nb = 2\nc = 3\n")

    def make(ratios, *, left_s=1000.0, **given):
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        sources = Sources({str(path): read_source(str(path))}, ())
        budget = Budget(left_s, clock=lambda: 0.0)
        return Bench(Proofs(ratios), budget, sources, TrialFolders(scratch), **given)

    make.path = path
    return make


def run(bench, offers, ratios, **given):
    """Try offers; return what came of them, what was claimed, and what was said."""
    made = [replace(one, made=offer(one.kind, one.name, path=bench.path).change) for one in offers]
    here, found, said = bench(ratios, **given), [], []
    try_all(made, here, said.append, found)
    return found, here, said


def test_every_offer_is_tried_and_counted(bench):
    found, here, said = run(bench, [XLA, STEPS32], {XLA.name: FAST})
    assert [one.mean > 1.4 for one in found] == [True, False]
    assert said == ["1 of 2: XLA (jit_compile)", "2 of 2: 32 steps per call"]
    texts = [claim.texts[str(bench.path)].decode() for claim in here.prover.claims]
    assert "# XLA (jit_compile)\nc = 3" in texts[0]


def test_what_cannot_be_edited_is_told_and_not_counted(bench):
    left = replace(XLA, made="`compile` has `**`")
    found, here, said = [], bench({}), []
    try_all([left], here, said.append, found)
    assert (found[0].why, found[0].outcome, said) == ("`compile` has `**`", None, [])
    assert here.prover.claims == []


@pytest.mark.parametrize(
    ("first", "ratios", "second", "why"),
    [
        pytest.param(
            STEPS32,
            FAST,
            STEPS8,
            "32 steps per call, which saves more calls, gains already",
            id="more",
        ),
        pytest.param(
            STEPS32, SAME, STEPS8, "32 steps per call gain nothing, and fewer gain less", id="none"
        ),
        pytest.param(BATCH64, SLOW, BATCH128, "batch 64 (×2) is no faster", id="no faster"),
    ],
)
def test_what_the_other_of_its_kind_has_answered_is_spared(bench, first, ratios, second, why):
    found, here, _ = run(bench, [first, second], {first.name: ratios})
    assert len(here.prover.claims) == 1
    assert (found[1].why, found[1].outcome) == (why, None)


@pytest.mark.parametrize(
    ("first", "ratios", "second"),
    [
        pytest.param(STEPS32, (), STEPS8, id="the larger number failed"),
        pytest.param(STEPS32, (1.03, 1.1, 1.2), STEPS8, id="nobody knows"),
        pytest.param(BATCH64, FAST, BATCH128, id="twice as many are faster"),
        pytest.param(BATCH64, SAME, BATCH128, id="twice as many may be faster"),
        pytest.param(XLA, SLOW, STEPS32, id="another kind"),
    ],
)
def test_the_second_is_tried_where(bench, first, ratios, second):
    _, here, _ = run(bench, [first, second], {first.name: ratios})
    assert len(here.prover.claims) == 2


def test_a_batch_that_learns_less_spares_the_larger_one():
    last = tried(BATCH64, *FAST, loss=(0.8, 0.5))
    assert why_not(BATCH128, [last]) == ("batch 64 (×2) learns less from the same examples already")


def test_a_batch_that_was_compared_by_steps_says_nothing_about_a_larger_one():
    assert why_not(BATCH128, [tried(BATCH64, *SLOW, unit="steps")]) == ""


def test_time_is_kept_for_the_best_ones_together(bench):
    offers = [XLA, STEPS32, BATCH64]
    ratios = {XLA.name: FAST, STEPS32.name: FAST, BATCH64.name: FAST}
    found, _, _ = run(bench, offers, ratios, left_s=100.0)
    assert [one.why for one in found] == ["", "", LATE]
    assert run(bench, offers, ratios, left_s=130.0)[0][2].why == ""


def test_a_trial_that_the_end_of_the_budget_ended_has_not_failed(bench):
    found, _, _ = run(bench, [XLA], {XLA.name: ()}, left_s=0.0)
    assert found[0].outcome.why == OUT_OF_TIME
    found, _, _ = run(bench, [XLA], {XLA.name: ()}, left_s=10.0)
    assert found[0].outcome.why == "gains less than 1.05×"


def test_an_interrupt_leaves_what_was_known_and_says_so_of_the_rest(bench):
    made = [offer(one.kind, one.name, path=bench.path) for one in (XLA, STEPS32, BATCH64)]
    made.append(replace(BATCH128, made="an epoch has only 3 steps"))
    found = []
    with pytest.raises(KeyboardInterrupt):
        try_all(made, bench({STEPS32.name: "interrupt"}), lambda text: None, found)
    assert [one.offer.name for one in found] == [one.name for one in made]
    assert found[0].outcome is not None
    rest = [(one.outcome, one.why) for one in found[1:]]
    assert rest == [(None, "interrupted")] * 2 + [(None, "an epoch has only 3 steps")]


def test_a_setting_is_proven_on_top_of_what_was_accepted(bench):
    before = outcome(offer(name="fix", path=bench.path, place=(1, 0)), *FAST)
    here = bench({XLA.name: FAST}, base=(before,))
    one = offer(path=bench.path)
    found = here.tried(one, one.change)
    (claim,) = here.prover.claims
    assert claim.texts[str(bench.path)] == b"# fix\na = 1\nb = 2\n# XLA (jit_compile)\nc = 3\n"
    assert claim.base[str(bench.path)] == b"# fix\na = 1\nb = 2\nc = 3\n"
    assert found.outcome.change.edits == one.change.edits


def test_of_each_kind_the_fastest_is_best():
    all_of = [tried(STEPS32, *FAST), tried(BATCH64, *FAST), tried(BATCH128, *FASTER)]
    assert [one.offer for one in best_of_each_kind(all_of)] == [STEPS32, BATCH128]


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(tried(XLA, *SAME, why="gains less"), id="not faster"),
        pytest.param(tried(BATCH64, *FAST, loss=(0.8, 0.5)), id="learns less"),
        pytest.param(tried(XLA, *FAST, loss=(float("nan"), 0.5)), id="not a number"),
        pytest.param(tried(XLA, *FAST, not_worth="it pays after 9 steps"), id="does not pay"),
        pytest.param(tried(BATCH64, *FAST, unit="steps"), id="other samples"),
    ],
)
def test_is_not_worth_having(bad):
    assert best_of_each_kind([bad]) == []


def test_a_slightly_higher_loss_is_no_obstacle():
    assert best_of_each_kind([tried(BATCH64, *FAST, loss=(0.53, 0.5))])


def test_what_touches_the_same_text_gives_way_to_the_faster_one():
    edits = [((3, 0), (3, 4), "x"), ((3, 0), (3, 4), "y")]
    slow, fast = (
        replace(
            one,
            made=replace(one.change, edits=(replace(one.change.edits[0], begin=b, end=e, text=t),)),
        )
        for one, (b, e, t) in zip((XLA, STEPS32), edits, strict=True)
    )
    both = [tried(slow, *FAST), tried(fast, *FASTER)]
    assert that_fit(both, None) == [both[1]]


def test_steps_per_call_must_fit_into_an_epoch_of_larger_batches():
    both = [tried(STEPS32, *FAST), tried(BATCH128, *FASTER)]
    assert that_fit(both, 100) == [both[1]]
    assert that_fit(both, 128) == both
    assert that_fit(both, None) == both


def test_the_best_are_tried_as_one(bench):
    best = [
        tried(offer(ChangeKind.XLA, "XLA", path=bench.path), *FAST),
        tried(
            offer(ChangeKind.BATCH, "batch 64", path=bench.path, times=2, setting={"batch": 64}),
            *FAST,
        ),
    ]
    here, said = bench({"XLA + batch 64": FASTER}), []
    found = try_together(best, here, said.append)
    assert said == ["2 of them together"]
    assert (found.offer.kind, found.offer.times) == (ChangeKind.TOGETHER, 2)
    assert found.offer.setting == {"jit": True, "batch": 64}
    text = here.prover.claims[0].texts[str(bench.path)]
    assert text == b"a = 1\nb = 2\n# XLA\n# batch 64\nc = 3\n"
    assert here.prover.claims[0].change.kind is FixClass.MAY_CHANGE_RESULTS


def test_one_alone_needs_no_trial_together(bench):
    assert try_together([tried(XLA, *FAST)], bench({}), print) is None


def test_together_is_chosen_where_it_is_faster():
    both = [tried(XLA, *FAST), tried(STEPS32, *FASTER)]
    whole = offer(ChangeKind.TOGETHER, "both")
    assert chosen(both, tried(whole, 2.5, 2.51, 2.52)) == both
    assert chosen(both, tried(whole, *FAST)) == [both[1]]
    assert chosen(both, tried(whole, 2.5, 2.51, 2.52, loss=(0.9, 0.5))) == [both[1]]
    assert chosen(both, None) == [both[1]]
    assert chosen([], None) == []


def test_compiling_pays_after_some_steps():
    training = Training(32, 0.1, 100, 300)
    found = tried(XLA, 2.0, 2.0, 2.0, compile_s=5.0)
    assert pays_after(found, training) == 100
    assert pays_after(tried(STEPS32, *FAST, compile_s=5.0), training) == 0
    assert pays_after(tried(XLA, *SLOW, compile_s=5.0), training) is None
    assert pays_after(found, Training()) is None


def test_what_does_not_pay_in_the_steps_left_is_not_worth_having(bench, monkeypatch):
    here = bench({XLA.name: FASTER}, training=Training(32, 0.01, 100, 200))
    monkeypatch.setattr(TrialFolders, "seen", lambda *args: tried(XLA, compile_s=5.0).seen)
    one = offer(path=bench.path)
    found = here.tried(one, one.change)
    assert found.why == "it pays after 991 steps, and you have 200 left"
    assert not found.is_worth_having


@pytest.mark.parametrize(
    ("kind", "agrees", "expected"),
    [
        (ChangeKind.STEPS, FixClass.SAME_RESULTS, FixClass.MAY_CHANGE_RESULTS),
        (ChangeKind.XLA, FixClass.EQUIVALENT, FixClass.EQUIVALENT),
        (ChangeKind.BATCH, FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS),
    ],
)
def test_a_setting_gets_the_class_that_its_results_prove(
    bench, monkeypatch, kind, agrees, expected
):
    monkeypatch.setattr(TrialFolders, "seen", lambda *args: Seen(agrees=agrees))
    one = offer(kind, "it", path=bench.path)
    found = bench({"it": FAST}).tried(one, one.change)
    assert (found.outcome.kind, found.outcome.change.kind) == (expected, expected)


def test_together_claims_no_more_than_may_change_results(bench):
    best = [
        tried(offer(kind, name, path=bench.path, claimed=FixClass.EQUIVALENT), *FAST)
        for kind, name in ((ChangeKind.XLA, "XLA"), (ChangeKind.THREADS, "threads"))
    ]
    here = bench({})
    try_together(best, here, lambda text: None)
    assert here.prover.claims[0].change.kind is FixClass.MAY_CHANGE_RESULTS
