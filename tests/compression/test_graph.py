"""The graph of a model, and the same model built again from it."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.graph import copied, graph_of, rebuilt
from quickfit.errors import ModelError, UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


@pytest.mark.parametrize("build", models.ALL, ids=lambda build: build.__name__)
def test_a_copy_gives_bit_identical_results_and_leaves_the_model_as_it_was(build):
    model = build()
    data = models.data_for(model)
    before = described(model)
    expected = models.results(model, data, training=False)

    copy = rebuilt(graph_of(model))

    for ours, theirs in zip(models.results(copy, data, training=False), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert described(model) == before
    assert not {id(v) for v in copy.variables} & {id(v) for v in model.variables}
    assert len(copy.trainable_variables) == len(model.trainable_variables)


def described(model):
    """Return everything about a model that a walk could spoil."""
    layers = model.layers
    nodes = [(len(op._inbound_nodes), len(op._outbound_nodes)) for op in layers]
    weights = [np.asarray(variable).tobytes() for variable in model.variables]
    flags = [(layer.name, layer.trainable, layer.built) for layer in layers]
    return nodes, weights, flags, model.compiled, model.trainable, len(model.losses)


@pytest.mark.parametrize(
    "build", [models.residual, models.concatenated, models.shared, models.named, models.mobile]
)
def test_a_copy_has_the_same_layers_and_weights_in_the_same_order(build):
    model = build()
    copy = rebuilt(graph_of(model))
    assert [layer.name for layer in copy.layers] == [layer.name for layer in model.layers]
    assert [w.path for w in copy.weights] == [w.path for w in model.weights]
    assert copy.name == model.name
    assert rebuilt(graph_of(model), name="other").name == "other"


def test_a_copy_takes_and_gives_the_same_structures_and_names():
    model = models.named()
    copy = rebuilt(graph_of(model))
    assert list(copy.input) == list(model.input)
    assert sorted(copy(models.data_for(model))) == ["age", "kind"]
    assert copy.output_names == model.output_names


def test_an_input_that_keras_named_keeps_both_of_its_names():
    model = models.sequential()
    copy = rebuilt(graph_of(model))
    assert copy.inputs[0].name == model.inputs[0].name
    assert graph_of(copy).input_names == graph_of(model).input_names


def test_a_copy_keeps_flags_policies_and_random_states():
    import keras

    model = models.noisy()
    model.layers[-1].trainable = False
    model.layers[-2].dtype_policy = "mixed_bfloat16"
    copy = rebuilt(graph_of(model))
    assert not copy.layers[-1].trainable
    assert copy.layers[-2].dtype_policy.name == "mixed_bfloat16"
    data = models.data_for(model)
    keras.utils.set_random_seed(0)
    expected = models.results(model, data, training=True)
    keras.utils.set_random_seed(0)
    np.testing.assert_array_equal(models.results(copy, data, training=True), expected)


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # Keras reads its own file
def test_a_copy_can_be_saved_and_loaded(tmp_path):
    import keras

    model = models.nested_twice()
    copy = rebuilt(graph_of(model))
    copy.save(tmp_path / "copy.keras")
    loaded = keras.models.load_model(tmp_path / "copy.keras")
    data = models.data_for(model)
    np.testing.assert_array_equal(models.results(loaded, data), models.results(model, data))


def test_calls_come_after_those_they_need():
    graph = graph_of(models.residual())
    known = set(graph.inputs)
    for call in graph.calls:
        assert known.issuperset(call.inputs)
        known.update(call.outputs)
    assert known.issuperset(graph.outputs)


def test_producers_and_users_of_a_tensor():
    graph = graph_of(models.residual())
    act, add = graph.call_named("stem_act"), graph.call_named("add")
    assert graph.producer(graph.inputs[0]) is None
    assert graph.producer(act.outputs[0]) is act
    assert [call.name for call in graph.users(act.outputs[0])] == ["conv_a", "add"]
    assert graph.users(graph.outputs[0]) == []
    assert add.inputs[1] == act.outputs[0]
    assert graph.shape_of(act.outputs[0]) == (None, 8, 8, 8)
    assert graph.dtype_of(act.outputs[0]) == "float32"
    assert graph.input_names == ("image",)
    assert graph.output_names == ("head",)
    assert graph.call_named("nobody") is None


def test_a_tensor_used_twice_by_one_call_has_one_user():
    import keras

    x = keras.Input((3,))
    graph = graph_of(keras.Model(x, keras.layers.Add()([x, x])))
    assert graph.calls[0].inputs == (0, 0)
    assert graph.users(0) == [graph.calls[0]]


def test_a_shared_layer_has_all_its_calls_and_stays_shared():
    model = models.shared()
    graph = graph_of(model)
    calls = graph.calls_of(model.get_layer("shared"))
    assert len(calls) == 2
    assert graph.calls_of(object()) == []
    copy = rebuilt(graph)
    assert copy.count_params() == model.count_params()


def test_a_nested_model_is_dissolved_and_only_colliding_names_change():
    graph = graph_of(models.nested_functional())
    names = [call.name for call in graph.calls]
    assert names[:4] == ["backbone_conv", "norm", "act", "conv"]
    # Its own input was (None, None, None, 3); here it is called on 8×8 images.
    assert graph.shape_of(graph.call_named("norm").outputs[0]) == (None, 8, 8, 4)
    # It was called with training=False, and so are its layers.
    assert graph.call_named("norm").kwargs["training"] is False


def test_a_nested_model_called_twice_is_made_of_shared_layers():
    model = models.nested_twice()
    graph = graph_of(model)
    dense = model.get_layer("twin").layers[0]
    assert len(graph.calls_of(dense)) == 2
    assert rebuilt(graph).count_params() == model.count_params()


def test_an_output_keeps_the_name_of_the_nested_model_it_comes_from():
    model = models.nested_sequential()
    copy = rebuilt(graph_of(model))
    assert model.output_names == ["head"]
    assert copy.output_names == ["head"]


def test_what_make_returns_stands_in_place_of_a_layer():
    import keras

    model = models.residual()

    def make(call, tensors):
        if call.name == "act_a":
            return tensors[0]  # dropped
        if call.name == "conv_a":  # two for one
            x = keras.layers.DepthwiseConv2D(3, padding="same", name="conv_a_depth")(tensors[0])
            return keras.layers.Conv2D(8, 1, name="conv_a")(x)
        return None

    student = rebuilt(graph_of(model), make)
    names = [layer.name for layer in student.layers]
    assert "conv_a_depth" in names
    assert "act_a" not in names
    assert student.output_shape == model.output_shape
    kept = student.get_layer("conv_b").get_weights()
    np.testing.assert_array_equal(kept, model.get_layer("conv_b").get_weights())


def test_a_wrong_number_of_tensors_from_make_is_an_error():
    with pytest.raises(ModelError, match="in place of 'stem' gives 2 tensors, and 1 are needed"):
        rebuilt(graph_of(models.residual()), lambda call, tensors: [tensors[0], tensors[0]])


def test_copied_compiles_the_copy_like_the_model():
    model = models.sequential()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    copy = copied(model)
    copy.fit(models.data_for(model), np.zeros(12), verbose=0)
    assert copy.optimizer is not model.optimizer
    assert int(model.optimizer.iterations) == 0
    assert not copied(models.flattened()).compiled


def test_what_was_frozen_stays_frozen_when_a_nested_model_is_dissolved():
    model = models.nested_functional()
    backbone = model.get_layer("backbone")
    backbone.trainable = False
    assert len(rebuilt(graph_of(model)).trainable_variables) == 2
    backbone.get_layer("conv").trainable = True  # Keras trains it, frozen as the model around it is
    copy = rebuilt(graph_of(model))
    assert len(copy.trainable_variables) == len(model.trainable_variables) == 4
    model.trainable = False
    assert rebuilt(graph_of(model)).trainable_variables == []


def test_a_subclassed_model_is_refused_with_the_way_out():
    import keras

    model = models.subclassed()
    with pytest.raises(ModelError) as caught:
        graph_of(model)
    assert "'network' is subclassed" in str(caught.value)
    assert "keras.Model(x, model.call(x))" in str(caught.value)
    x = keras.Input((3,))
    way_out = keras.Model(x, model.call(x))
    assert [call.name for call in graph_of(way_out).calls] == [
        model.first.name,
        model.second.name,
    ]


def test_a_functional_model_with_its_own_call_is_refused():
    import keras

    class Doubled(keras.Model):
        def call(self, inputs):
            return 2 * super().call(inputs)

    x = keras.Input((3,))
    with pytest.raises(ModelError, match="subclassed: the layers of Doubled"):
        graph_of(Doubled(x, keras.layers.Dense(2)(x)))


def test_an_unbuilt_sequential_is_refused_with_what_to_do():
    import keras

    model = keras.Sequential([keras.layers.Dense(2, name="first")], name="open")
    with pytest.raises(ModelError, match=r"'open' does not know the shape.*'first'.*model\.build"):
        graph_of(model)
    with pytest.raises(ModelError, match="has no layers"):
        graph_of(keras.Sequential(name="empty"))
    model.build((None, 3))
    assert len(graph_of(model).calls) == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("model.keras", r"a string came: 'model\.keras'.*load_model"),
        (None, r"an object of type builtins\.NoneType came"),
    ],
)
def test_what_is_no_model_is_refused(value, message):
    with pytest.raises(UsageError, match=message):
        graph_of(value)
