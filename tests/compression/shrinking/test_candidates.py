"""Candidates made one by one."""

from dataclasses import replace

import numpy as np
import pytest

from compression import models
from quickfit.compression.copying import copied
from quickfit.compression.graph import graph_of
from quickfit.compression.shrinking.candidates import NO_TIME, CandidateMaker, MakingBudget
from quickfit.compression.shrinking.evidence import UserData, build_evidence
from quickfit.compression.shrinking.output_folder import ResultFolder
from quickfit.compression.shrinking.recipes import PRUNED, SEPARABLE, Recipe, RecipeStep
from quickfit.compression.shrinking.result import CandidateKind, CandidateVerdict
from quickfit.compression.shrinking.targets import Target
from quickfit.errors import UsageError

PRUNE = Recipe("pruned-50", "half of the channels removed", (RecipeStep(PRUNED, 0.5),))


class Marks:
    """Marks everything 0.9 but int8 files, of which it is told what to think."""

    def __init__(self, of_int8=0.9):
        self.of_int8, self.shop = of_int8, None

    def __call__(self, model):
        return self.of_int8 if self.shop.told[-1].startswith("original-int8:") else 0.9


class Shop(CandidateMaker):
    """A workshop that remembers what it told."""

    def __init__(self, graph, evidence, folder, budget_s=1000.0):
        self.told = []
        super().__init__(graph, evidence, folder, MakingBudget(budget_s), self.told.append)


@pytest.fixture
def shop_of(tmp_path):
    """Return a maker of workshops for a model."""

    def make(model, marks=None, labels=None, budget_s=1000.0):
        graph, marks = graph_of(model), marks or Marks()
        data = models.data_for(model, 64)
        given = UserData(calibration=data, evaluate=marks)
        if labels is not None:
            given = UserData(data=(data, labels), evaluate=marks)
        evidence = replace(build_evidence(graph, given), select=marks)
        shop = marks.shop = Shop(graph, evidence, ResultFolder(tmp_path / "out"), budget_s)
        shop.add_original(copied(model), 0.9)
        return shop

    return make


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_becomes_a_row_and_a_file(shop_of, tmp_path):
    shop = shop_of(models.residual())
    shop.add_models([PRUNE], seed=0)
    original, row = shop.rows
    assert original.verdict is CandidateVerdict.ORIGINAL
    assert row.path == tmp_path / "out" / "candidates" / "pruned-50.keras"
    assert row.figures.file_bytes == row.path.stat().st_size
    assert row.figures.parameters < original.figures.parameters
    assert row.figures.flops < original.figures.flops
    assert any(note.startswith("Left as they are: head:") for note in row.notes)
    assert shop.told == ["pruned-50: half of the channels removed"]
    assert shop.worth_a_file(Target()) == [row]
    assert shop.worth_a_file(Target(least_accuracy=0.95)) == []


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_what_cannot_be_made_says_why_and_the_rest_goes_on(shop_of):
    shop = shop_of(models.flattened())
    separable = Recipe("separable-1", "x", (RecipeStep(SEPARABLE, 1),))
    shop.add_models([separable, PRUNE], seed=0)
    assert [row.verdict is CandidateVerdict.NOT_MADE for row in shop.rows] == [False, True, False]
    assert shop.rows[1].reason.startswith("no convolution can be rewritten (conv2d")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_without_time_nothing_is_made(shop_of):
    shop = shop_of(models.residual(), budget_s=1e-9)
    shop.add_models([PRUNE], seed=0)
    assert (shop.rows[1].verdict, shop.rows[1].reason) == (CandidateVerdict.NOT_MADE, NO_TIME)
    assert shop.told == []


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_files_are_made_of_a_row_by_kind_and_by_recipe(shop_of):
    shop = shop_of(models.residual())
    shop.add_files(shop.rows[0], ("float32", "int4"))
    float32, int4 = shop.rows[1:]
    assert [row.name for row in (float32, int4)] == ["original-float32", "original-int4"]
    assert {row.kind for row in (float32, int4)} == {CandidateKind.LITERT}
    assert float32.parent == "original"
    assert int4.figures.file_bytes < float32.figures.file_bytes


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_int8_is_trained_for_where_it_loses_more_than_a_point(shop_of):
    model = models.residual()
    model.compile("adam", "sparse_categorical_crossentropy")
    labels = np.arange(64) % 4
    shop = shop_of(model, Marks(of_int8=0.85), labels)
    shop.add_files(shop.rows[0], ("int8",))
    assert [row.name for row in shop.rows] == ["original", "original-int8", "original-int8-trained"]
    assert shop.rows[2].is_there


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_int8_that_loses_little_is_not_trained_for(shop_of):
    shop = shop_of(models.residual())
    shop.add_files(shop.rows[0], ("int8",))
    assert [row.name for row in shop.rows] == ["original", "original-int8"]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_full_disk_ends_it(shop_of, monkeypatch):
    def full(self, model, path):
        raise UsageError("the disk is full") from OSError(28, "No space left on device")

    monkeypatch.setattr(ResultFolder, "save", full)
    with pytest.raises(UsageError, match="the disk is full"):
        shop_of(models.residual()).add_models([PRUNE], seed=0)


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_there_is_room_until_the_next_one_would_take_time_from_measuring():
    clock = Clock()
    budget = MakingBudget(100, clock)
    assert budget.has_room()
    budget.begin()
    clock.now += 30
    budget.end()
    assert budget.has_room()  # 30 gone, 30 more make 60 of 70
    clock.now += 11
    assert not budget.has_room()
    assert budget.spent_s == 41


@pytest.mark.parametrize("total_s", [0, -1, float("nan")])
def test_a_budget_is_a_number_of_seconds(total_s):
    with pytest.raises(UsageError, match="it is a number of seconds above 0"):
        MakingBudget(total_s)


def test_short_ones_fit_where_long_ones_do_not():
    clock = Clock()
    budget = MakingBudget(100, clock)
    for sort, taken_s in (("file", 2), ("model", 30)):
        budget.begin()
        clock.now += taken_s
        budget.end(sort)
    clock.now += 28  # 60 of 70 are gone
    assert budget.has_room("file")
    assert not budget.has_room("model")
    assert not budget.has_room("new")
