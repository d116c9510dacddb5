"""Magnitude pruning: zeros that grow in training and stay."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.pruning import MagnitudePruning
from quickfit.compression.pruning.magnitude import kernel_name, zeros_in
from quickfit.errors import ModelError, UsageError


def trained(model, steps, **settings):
    """Train a model that takes six numbers and gives two, for some steps of four samples."""
    if not model.compiled:
        model.compile(settings.pop("optimizer", "adam"), "mse", **settings)
    draw = np.random.default_rng(0)
    x = draw.normal(size=(4 * steps, 6)).astype("float32")
    model.fit(x, x[:, :2] - x[:, 2:4], batch_size=4, epochs=1, verbose=0, shuffle=False)
    return model


def dense(**settings):
    import keras

    x = inputs = keras.Input((6,))
    x = keras.layers.Dense(20, activation="relu", name="first", **settings)(x)
    return models.settled(keras.Model(inputs, keras.layers.Dense(2, name="second")(x)))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"steps_per_execution": 6},
        {"jit_compile": True},
        {"run_eagerly": True},
    ],
    ids=str,
)
def test_the_share_of_zeros_is_reached_and_kept(settings):
    pruning = MagnitudePruning(0.75, begin=2, end=10)
    model = trained(pruning.attached(dense()).model, 24, **settings)
    assert zeros_in(model).by_layer == {"first": 0.75, "second": 0.75}
    before = model.get_layer("first").kernel.numpy() == 0
    trained(model, 6)
    np.testing.assert_array_equal(model.get_layer("first").kernel.numpy() == 0, before)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_it_works_with_loss_scaling_which_skips_steps():
    import keras

    pruning = MagnitudePruning(0.5, begin=0, end=5)
    model = pruning.attached(dense()).model
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1e-3))
    trained(model, 12, optimizer=optimizer)
    assert zeros_in(model).by_layer["first"] == 0.5


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_the_schedule_is_cubic():
    from quickfit.compression.pruning.smallest_to_zero import SmallestToZero

    constraint = SmallestToZero(0.8, begin=10, end=110, shape=(4, 5))
    shares = [float(constraint.share_at(step)) for step in (0, 10, 60, 110, 500)]
    np.testing.assert_allclose(shares, [0, 0, 0.8 * (1 - 0.5**3), 0.8, 0.8], atol=1e-6)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_the_smallest_weights_go_and_equal_ones_not_all_at_once():
    from quickfit.compression.pruning.smallest_to_zero import SmallestToZero

    weights = np.array([[-4.0, 1.0], [2.0, -3.0]], "float32")
    constraint = SmallestToZero(0.5, begin=0, end=1, shape=(2, 2), step=1)
    np.testing.assert_array_equal(constraint(weights), [[-4, 0], [0, -3]])
    constraint = SmallestToZero(0.5, begin=0, end=1, shape=(2, 2), step=1)
    assert int(np.count_nonzero(constraint(np.ones((2, 2), "float32")))) == 2


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_nothing_changes_before_it_begins():
    from quickfit.compression.pruning.smallest_to_zero import SmallestToZero

    constraint = SmallestToZero(0.5, begin=3, end=5, shape=(2, 2))
    weights = np.array([[-4.0, 1.0], [2.0, -3.0]], "float32")
    counts = [int(np.count_nonzero(constraint(weights))) for _ in range(7)]
    assert counts == [4, 4, 4, 4, 4, 2, 2]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_attached_and_stripped_models_do_what_the_original_does():
    pruning = MagnitudePruning(0.5, begin=0, end=2)
    model = convolutions()
    before = [w.copy() for w in model.get_weights()]
    data = models.data_for(model)
    attached = pruning.attached(model)
    np.testing.assert_array_equal(attached.model(data), model(data))
    assert model.get_layer("conv").kernel_constraint is None
    attached.model.compile("sgd", "mse", run_eagerly=True)
    attached.model.fit(data, np.zeros((12, 3)), epochs=3, verbose=0)
    stripped = pruning.stripped(attached.model)
    np.testing.assert_array_equal(stripped.model(data), attached.model(data))
    assert stripped.model.get_layer("conv").kernel_constraint is None
    assert stripped.model.get_layer("separable").pointwise_constraint is None
    for ours, theirs in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert [one.layer for one in attached.skipped] == ["depthwise"]
    assert "after gzip" in stripped.notes[0]
    assert stripped.notes[1].startswith("It runs no faster")
    assert set(zeros_in(stripped.model).by_layer) == {"conv", "separable", "head"}
    assert len(stripped.notes) == 2


def convolutions():
    import keras

    x = inputs = keras.Input((4, 4, 3))
    x = keras.layers.Conv2D(4, 3, groups=1, name="conv")(x)
    x = keras.layers.DepthwiseConv2D(2, name="depthwise")(x)
    x = keras.layers.SeparableConv2D(4, 1, name="separable")(x)
    return models.settled(
        keras.Model(inputs, keras.layers.Dense(3, name="head")(keras.layers.Flatten()(x)))
    )


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_a_constraint_of_the_user_is_applied_too_and_given_back():
    import keras

    model = dense(kernel_constraint=keras.constraints.NonNeg())
    pruning = MagnitudePruning(0.25, begin=0, end=3)
    attached = trained(pruning.attached(model).model, 8)
    kernel = attached.get_layer("first").kernel.numpy()
    assert (kernel >= 0).all()
    stripped = pruning.stripped(attached).model
    assert isinstance(stripped.get_layer("first").kernel_constraint, keras.constraints.NonNeg)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_a_model_saved_in_the_middle_goes_on_where_it_was(tmp_path):
    import keras

    pruning = MagnitudePruning(0.75, begin=0, end=12)
    model = trained(pruning.attached(dense()).model, 6)
    model.save(tmp_path / "half.keras")
    loaded = keras.models.load_model(tmp_path / "half.keras")
    constraint = loaded.get_layer("first").kernel_constraint
    assert int(constraint.step.numpy()) == 6
    assert "before the last one of pruning" in pruning.stripped(loaded).notes[2]
    trained(loaded, 10)
    assert zeros_in(loaded).by_layer["first"] == 0.75
    small = pruning.stripped(loaded).model
    small.save(tmp_path / "small.keras")
    again = keras.models.load_model(tmp_path / "small.keras")
    assert zeros_in(again).by_layer == zeros_in(loaded).by_layer


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_zeros_make_the_compressed_weights_smaller():
    model = dense()
    full = zeros_in(model)
    kernel, bias = model.get_layer("first").get_weights()
    kernel[:, 2:] = 0
    model.get_layer("first").set_weights([kernel, bias])
    sparse = zeros_in(model)
    assert sparse.weight_bytes == full.weight_bytes == 4 * model.count_params()
    assert sparse.gzip_bytes < 0.6 * full.gzip_bytes
    assert sparse.by_layer == {"first": 0.9, "second": 0.0}
    assert sparse.share == pytest.approx(108 / 182)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((80, 0, 10), "80 came"),
        ((1.0, 0, 10), "1.0 came"),
        ((0.0, 0, 10), "between 0 and 1"),
        ((float("nan"), 0, 10), "nan came"),
        ((0.5, -1, 10), "begin is a training step, a whole number of 0 or more, and -1 came"),
        ((0.5, 5, 5), "end is a training step, a whole number of 6 or more, and 5 came"),
        ((0.5, 0, 1.5), "1.5 came"),
    ],
)
def test_settings_that_make_no_sense_are_refused(arguments, text):
    with pytest.raises(UsageError) as error:
        MagnitudePruning(*arguments)
    assert text in str(error.value)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_models_without_anything_to_prune_are_refused():
    import keras

    pruning = MagnitudePruning(0.5, begin=0, end=4)
    model = dense()
    model.trainable = False
    with pytest.raises(ModelError) as error:
        pruning.attached(model)
    assert "first: it is not trainable" in str(error.value)
    inputs = keras.Input((3,))
    with pytest.raises(ModelError, match="no Dense layer and no convolution"):
        pruning.attached(keras.Model(inputs, keras.layers.ReLU()(inputs)))
    with pytest.raises(ModelError, match="has no constraints of magnitude pruning"):
        pruning.stripped(dense())


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_zeros_are_counted_by_layer_and_make_the_weights_smaller_after_gzip():
    model = models.residual()
    before = zeros_in(model)
    kernel = model.get_layer("conv_a").kernel
    kernel.assign(np.zeros(kernel.shape))
    after = zeros_in(model)
    assert (before.by_layer["conv_a"], after.by_layer["conv_a"]) == (0, 1)
    assert after.by_layer["conv_b"] == 0
    assert after.share == pytest.approx(before.share + np.prod(kernel.shape) / model.count_params())
    assert after.weight_bytes == before.weight_bytes == 4 * model.count_params()
    assert after.gzip_bytes < before.gzip_bytes


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_kernel_of_a_separable_convolution_is_the_one_that_mixes():
    model = models.mobile()
    names = [kernel_name(model.get_layer(name)) for name in ("separable", "dense", "last_norm")]
    assert names == ["pointwise_kernel", "kernel", ""]
