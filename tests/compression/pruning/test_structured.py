"""`pruned` from the outside: goals, what is left, what is told, and errors."""

import numpy as np
import pytest

from compression import models
from compression.pruning import nets
from quickfit.compression.calibration import Samples
from quickfit.compression.flops import flops
from quickfit.compression.graph import graph_of
from quickfit.compression.pruning import pruned
from quickfit.compression.pruning.channel_removal import channel_groups, cut_channels
from quickfit.compression.pruning.channels import trace_channels
from quickfit.compression.pruning.structured import (
    STEPS,
    Choices,
    estimate_flops,
    first_enough,
    open_sizes,
    plan_for_flops,
)
from quickfit.errors import ModelError, UsageError


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("net", nets.GOLDEN)
def test_refitting_comes_nearer_to_the_original_than_cutting_alone(net):
    from quickfit.compression.graph import graph_of
    from quickfit.compression.pruning.channel_removal import (
        channel_groups,
        cut_channels,
        plan_removal,
    )
    from quickfit.compression.pruning.channels import trace_channels

    model = net()
    data = models.data_for(model, 120)
    before = [w.copy() for w in model.get_weights()]
    made = pruned(model, data, ratio=0.5, multiple=1)
    trace = trace_channels(graph_of(model))
    raw = cut_channels(plan_removal(trace, channel_groups(trace), 0.5, 1))
    fresh = models.data_for(model, 64, seed=1)
    expected = models.results(model, fresh)
    errors = [
        sum(float(np.mean((a - b) ** 2) / np.var(b)) for a, b in zip(r, expected, strict=True))
        for r in (models.results(made.model, fresh), models.results(raw, fresh))
    ]
    assert errors[0] < errors[1]
    assert made.model.count_params() == raw.count_params() < model.count_params()
    for ours, theirs in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


KEPT_WHOLE = [models.with_operations, models.masked, models.custom]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("net", [net for net in models.ALL if net not in KEPT_WHOLE])
def test_models_of_every_shape_are_pruned(net):
    model = net()
    data = models.data_for(model)
    made = pruned(model, data, ratio=0.5, multiple=1)
    assert made.model.count_params() < model.count_params()
    assert all(np.isfinite(result).all() for result in models.results(made.model, data))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("net", KEPT_WHOLE)
def test_models_that_need_all_their_channels_are_refused(net):
    model = net()
    with pytest.raises(ModelError, match="has no channels that could be removed:\n  "):
        pruned(model, models.data_for(model), ratio=0.5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("policy", ["mixed_float16", "bfloat16", "float64"])
def test_the_dtype_of_weights_and_results_stays(policy):
    import keras

    x = inputs = keras.Input((6, 6, 3))
    x = keras.layers.Conv2D(8, 3, activation="relu", dtype=policy, name="conv")(x)
    x = keras.layers.Conv2DTranspose(8, 3, dtype=policy)(x)
    x = keras.layers.BatchNormalization(dtype=policy)(x)
    x = keras.layers.GlobalAveragePooling2D(dtype=policy)(x)
    model = models.settled(keras.Model(inputs, keras.layers.Dense(2, dtype=policy)(x)))
    data = models.data_for(model, 80)
    small = pruned(model, data, ratio=0.5).model
    assert [w.dtype for w in small.weights] == [w.dtype for w in model.weights]
    assert small.output.dtype == model.output.dtype
    assert small.get_layer("conv").filters == 4


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_initializers_and_constraints_of_the_old_shape_do_not_stand_in_the_way():
    import keras

    from quickfit.compression.pruning import MagnitudePruning

    table = np.random.default_rng(0).normal(size=(20, 8))
    x = inputs = keras.Input((5,), dtype="int32")
    start = keras.initializers.Constant(table)
    x = keras.layers.Embedding(20, 8, embeddings_initializer=start, name="table")(x)
    x = keras.layers.GlobalAveragePooling1D()(keras.layers.Dense(8, activation="relu")(x))
    model = keras.Model(inputs, keras.layers.Dense(2)(x))
    model = MagnitudePruning(0.5, begin=0, end=4).attached(model).model
    small = pruned(model, models.data_for(model), ratio=0.5).model
    assert small.get_layer("table").embeddings.shape == (20, 4)
    small.compile("sgd", "mse")
    small.fit(models.data_for(model), np.zeros((12, 2)), verbose=0)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_model_keeps_its_flags_names_and_compilation():
    model = models.residual()
    model.compile("adam", "mse")
    model.get_layer("conv_a").trainable = False
    made = pruned(model, models.data_for(model), ratio=0.5)
    assert model.compiled
    assert not model.get_layer("conv_a").trainable
    assert model.optimizer.iterations == 0
    assert not made.model.get_layer("conv_a").trainable
    assert made.model.get_layer("conv_b").trainable
    assert [x.name for x in made.model.layers] == [x.name for x in model.layers]
    assert not made.model.compiled


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_redundant_channels_are_removed_without_any_loss():
    import keras

    draw = np.random.default_rng(0)
    model = keras.Sequential(
        [
            keras.Input((6, 6, 3)),
            keras.layers.Conv2D(8, 3, activation="relu", name="doubled"),
            keras.layers.Conv2D(5, 3, name="reader"),
        ]
    )
    models.settled(model)
    kernel, bias = model.get_layer("doubled").get_weights()
    kernel[..., 4:] = kernel[..., :4] * 0.5
    bias[4:] = bias[:4] * 0.5
    model.get_layer("doubled").set_weights([kernel, bias])
    data = draw.normal(size=(100, 6, 6, 3)).astype("float32")
    made = pruned(model, data, ratio=0.5)
    assert made.model.get_layer("doubled").filters == 4
    ours, theirs = made.model(data), model(data)
    # The ridge pulls a little towards the old weights.
    np.testing.assert_allclose(ours, theirs, atol=5e-3 * np.abs(theirs).max())


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_same_seed_gives_the_same_model():
    model = models.residual()
    data = models.data_for(model, 40)
    one, other = (pruned(model, data, ratio=0.5, seed=3).model for _ in range(2))
    for ours, theirs in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_ratio_zero_is_an_exact_copy():
    model = models.residual()
    data = models.data_for(model)
    made = pruned(model, data, ratio=0)
    np.testing.assert_array_equal(made.model(data), model(data))
    assert made.notes == ("Nothing was removed: this is an exact copy.",)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_channels_are_kept_in_multiples():
    model = models.residual()
    made = pruned(model, models.data_for(model), ratio=0.5, multiple=4)
    assert {made.model.get_layer(n).filters for n in ("stem", "conv_a", "conv_b")} == {4}
    exact = pruned(model, models.data_for(model), ratio=0.25, multiple=4)
    assert "every layer has too few for a ratio of 0.25" in exact.notes[0]
    assert exact.model.count_params() == model.count_params()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_layer_with_too_few_channels_is_told():
    model = models.concatenated()
    made = pruned(model, models.data_for(model), ratio=0.34, multiple=4)
    reasons = {one.layer: one.reason for one in made.skipped}
    assert "its 4 channels are too few for this ratio and multiple" in reasons.values()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("share", [0.9, 0.6, 0.3])
def test_a_share_of_the_operations_is_kept_at_most(share):
    model = nets.normalized()
    made = pruned(model, models.data_for(model), flops=share, multiple=1)
    ratio = flops(made.model).total / flops(model).total
    assert 0.6 * share < ratio <= share


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_open_sizes_are_those_of_the_calibration_data():
    import keras

    x = inputs = keras.Input((None, None, 3))
    x = keras.layers.Conv2D(8, 3, activation="relu", name="first")(x)
    x = keras.layers.GlobalAveragePooling2D()(keras.layers.Conv2D(8, 3)(x))
    model = keras.Model(inputs, keras.layers.Dense(2)(x))
    data = np.random.default_rng(0).normal(size=(20, 9, 10, 3))
    made = pruned(model, data, flops=0.5, multiple=1)
    sizes = [flops(m, size=(9, 10)).total for m in (made.model, model)]
    assert sizes[0] <= 0.5 * sizes[1]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_speed_is_reached_as_the_measure_sees_it():
    model = nets.normalized()
    asked = []

    def measure(candidate):
        asked.append(candidate)
        return candidate.count_params() * 1e-6

    made = pruned(model, models.data_for(model), speed=2, measure=measure, multiple=1)
    assert 2 <= model.count_params() / made.model.count_params() < 4
    assert asked.count(model) == len(asked) / 2  # in turns with the original


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_it_tells_what_was_done_and_what_was_left():
    model = nets.stuck()
    with pytest.raises(ModelError) as error:
        pruned(model, models.data_for(model), ratio=0.5)
    text = str(error.value)
    assert "has no channels that could be removed" in text
    made = pruned(model, models.data_for(model), ratio=0)
    reasons = {one.layer: one.reason for one in made.skipped}
    assert "the model's input 'steps'" in reasons["to_input"]
    assert "'layer_norm' (LayerNormalization)" in reasons["to_norm"]
    assert "is a convolution in groups" in reasons["grouped"]
    assert "activation looks at all channels" in reasons["attention"]
    assert "(GetItem)" in reasons["to_slice"]
    assert reasons["lstm"] == "it needs all of its inputs, as far as quickfit knows"
    assert reasons["head"] == "its channels are an output of the model"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_notes_say_how_much_is_left():
    model = models.residual()
    made = pruned(model, models.data_for(model, 100), ratio=0.5)
    assert "12 of 28 channels were removed" in made.notes[0]
    assert "of the operations" in made.notes[0]
    assert "of the weights are left" in made.notes[0]
    assert "refitted on 100 samples" in made.notes[1]
    assert len(made.notes) == 2
    few = pruned(model, models.data_for(model, 5), ratio=0.5)
    assert few.notes[2].startswith("5 samples are few to refit to")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "none of them came"),
        ({"ratio": 0.5, "flops": 0.5}, "ratio=0.5, flops=0.5 came"),
        ({"ratio": 1.0}, "ratio must be a number from 0 up to, but not including, 1"),
        ({"ratio": -0.1}, "-0.1 came"),
        ({"ratio": 50}, "50 came"),
        ({"ratio": "half"}, "'half' came"),
        ({"ratio": float("nan")}, "nan came"),
        ({"ratio": True}, "True came"),
        ({"flops": 0}, "flops must be a number above 0, at most 1"),
        ({"flops": 1e6}, "1000000.0 came"),
        ({"speed": 0.5, "measure": len}, "speed must be a number of 1 or more"),
        ({"speed": 2}, "speed= needs measure="),
        ({"speed": 2, "measure": 3.0}, "3.0 came"),
        ({"ratio": 0.5, "multiple": 0}, "multiple must be a whole number"),
        ({"ratio": 0.5, "multiple": 2.5}, "2.5 came"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused(settings, text):
    model = models.sequential()
    with pytest.raises(UsageError) as error:
        pruned(model, models.data_for(model), **settings)
    assert text in str(error.value)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), None, "fast"])
def test_a_measure_that_returns_no_seconds_is_refused(seconds):
    model = models.sequential()
    with pytest.raises(UsageError, match=r"measure\(model\) must return seconds"):
        pruned(model, models.data_for(model), speed=2, measure=lambda model: seconds)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_goals_out_of_reach_say_what_can_be_had():
    model = models.sequential()
    data = models.data_for(model)
    with pytest.raises(ModelError) as error:
        pruned(model, data, flops=0.01)
    assert "is the least, with 4 channels in every layer" in str(error.value)
    with pytest.raises(ModelError) as error:
        pruned(model, data, speed=3, measure=lambda model: 1.0)
    assert "1.00× was the best that was measured" in str(error.value)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_other_models_and_data_are_refused():
    model = models.sequential()
    with pytest.raises(ModelError, match="is subclassed"):
        pruned(models.subclassed(), np.zeros((4, 3)), ratio=0.5)
    with pytest.raises(UsageError, match="do not fit the model"):
        pruned(model, np.zeros((4, 3)), ratio=0.5)
    broken = models.data_for(model)
    broken[0] = np.nan
    with pytest.raises(ModelError, match="not finite"):
        pruned(model, broken, ratio=0.5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")  # Keras reads its own file
def test_a_pruned_model_is_saved_and_trained_like_any_other(tmp_path):
    import keras

    model = models.sequential()
    data = models.data_for(model)
    made = pruned(model, data, ratio=0.5)
    made.model.save(tmp_path / "small.keras")
    loaded = keras.models.load_model(tmp_path / "small.keras")
    np.testing.assert_array_equal(loaded(data), made.model(data))
    loaded.compile("adam", "mse")
    loaded.fit(data, np.zeros((12, 4)), verbose=0)


@pytest.mark.parametrize("enough", [0, 1, 7, 15, 16])
def test_the_first_step_that_is_enough_is_found_in_few_questions(enough):
    asked = []

    def is_enough(step):
        asked.append(step)
        return step >= enough

    assert first_enough(is_enough, last=16) == enough
    assert len(asked) <= 5


def test_none_is_enough():
    assert first_enough(lambda step: False, last=16) == 17


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("net", [nets.normalized, nets.branches, nets.mobile])
def test_the_estimate_is_near_to_the_count(net):
    trace = trace_channels(graph_of(net()))
    choices = Choices(trace, channel_groups(trace), 1)
    before = flops(trace.graph)
    for step in (0, STEPS // 4, STEPS // 2):
        plan = choices.at(step)
        assert estimate_flops(plan, before) == pytest.approx(
            flops(cut_channels(plan)).total, rel=0.15
        )


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_less_would_not_have_been_enough():
    trace = trace_channels(graph_of(nets.normalized()))
    choices = Choices(trace, channel_groups(trace), 1)
    plan = plan_for_flops(choices, 0.5, Samples((np.zeros((2, 8, 8, 3)),)))
    whole = flops(trace.graph).total
    assert flops(cut_channels(plan)).total <= 0.5 * whole
    step = next(s for s in range(STEPS) if choices.at(s).removed == plan.removed)
    assert flops(cut_channels(choices.at(step - 1))).total > 0.5 * whole


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_sizes_that_the_model_leaves_open_are_read_from_the_data():
    import keras

    a, b = keras.Input((4,)), keras.Input((None, 7, None, 2))
    graph = graph_of(keras.Model([a, b], [keras.layers.ReLU()(a), keras.layers.ReLU()(b)]))
    samples = Samples((np.zeros((3, 4)), np.zeros((3, 5, 7, 6, 2))))
    assert open_sizes(graph, samples) == (5, 6)
    fixed = graph_of(keras.Model(a, keras.layers.ReLU()(a)))
    assert open_sizes(fixed, Samples((np.zeros((3, 4)),))) is None
