"""Callbacks that watch what is never logged, from the text of a program."""

import pytest

from quickfit.causes.traps.monitor_never_there import CAUSE
from quickfit.findings import FixClass

from programs import code_of, fixed, lines, pair, spots

NAME = "monitor-never-there"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow")
            .replace('monitor="val_acc", mode="max"', 'monitor="val_loss"')
            .replace("validation_split=0.2, ", ""),
            id="no validation",
        ),
        pytest.param(
            pair(NAME, "slow").replace(
                'EarlyStopping(monitor="val_acc", mode="max", patience=1)',
                'ModelCheckpoint("m.keras", "val_acc", save_best_only=True, mode="max")',
            ),
            id="the best model",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


def test_knows_how_keras_names_a_metric():
    text = pair(NAME, "slow").replace('["accuracy"]', "[keras.metrics.TopKCategoricalAccuracy()]")
    assert lines(CAUSE, text.replace("val_acc", "val_top_k_categorical_accuracy")) == []
    assert len(lines(CAUSE, text.replace("val_acc", "val_auc"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace(
                'EarlyStopping(monitor="val_acc", mode="max", patience=1)',
                'ModelCheckpoint("m.keras", "val_acc")',
            ),
            id="every epoch is saved",
        ),
        pytest.param(
            pair(NAME, "slow").replace('metrics=["accuracy"]', "metrics=own"),
            id="metrics that are not known",
        ),
        pytest.param(
            pair(NAME, "slow")
            .replace(
                "model.fit(",
                "model.fit(x, y, validation_data=(x, y), callbacks=[stop])\nmodel.fit(",
            )
            .replace('monitor="val_acc", mode="max"', 'monitor="val_loss"')
            .replace("validation_split=0.2, ", ""),
            id="another fit validates",
        ),
        pytest.param(
            pair(NAME, "slow").replace(
                'metrics=["accuracy"]', 'metrics=[keras.metrics.AUC(name="acc")]'
            ),
            id="a name of its own",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_the_edit_makes_one_of_the_other():
    assert code_of(fixed(CAUSE, pair(NAME, "slow"))) == code_of(pair(NAME, "fixed"))
    assert spots(CAUSE, pair(NAME, "slow"))[0].change.kind is FixClass.REPAIRS
