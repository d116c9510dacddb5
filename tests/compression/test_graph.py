"""The graph of a model, and the same model built again from it."""

from types import SimpleNamespace

import numpy as np
import pytest

from compression import models
from quickfit.compression.copying import copied, rebuild_graph
from quickfit.compression.graph import Call, LayerNames, Ref, graph_of, in_order, specs_from
from quickfit.compression.keras_internals import body_of
from quickfit.errors import ModelError, UsageError


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("build", models.ALL, ids=lambda build: build.__name__)
def test_a_copy_gives_bit_identical_results_and_leaves_the_model_as_it_was(build):
    model = build()
    data = models.data_for(model)
    before = described(model)
    expected = models.results(model, data, training=False)

    copy = rebuild_graph(graph_of(model))

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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize(
    "build", [models.residual, models.concatenated, models.shared, models.named, models.mobile]
)
def test_a_copy_has_the_same_layers_and_weights_in_the_same_order(build):
    model = build()
    copy = rebuild_graph(graph_of(model))
    assert [layer.name for layer in copy.layers] == [layer.name for layer in model.layers]
    assert [w.path for w in copy.weights] == [w.path for w in model.weights]
    assert copy.name == model.name
    assert rebuild_graph(graph_of(model), name="other").name == "other"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_copy_takes_and_gives_the_same_structures_and_names():
    model = models.named()
    copy = rebuild_graph(graph_of(model))
    assert list(copy.input) == list(model.input)
    assert sorted(copy(models.data_for(model))) == ["age", "kind"]
    assert copy.output_names == model.output_names


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_input_that_keras_named_keeps_both_of_its_names():
    model = models.sequential()
    copy = rebuild_graph(graph_of(model))
    assert copy.inputs[0].name == model.inputs[0].name
    assert graph_of(copy).input_names == graph_of(model).input_names


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_copy_keeps_flags_policies_and_random_states():
    import keras

    model = models.noisy()
    model.layers[-1].trainable = False
    model.layers[-2].dtype_policy = "mixed_bfloat16"
    copy = rebuild_graph(graph_of(model))
    assert not copy.layers[-1].trainable
    assert copy.layers[-2].dtype_policy.name == "mixed_bfloat16"
    data = models.data_for(model)
    keras.utils.set_random_seed(0)
    expected = models.results(model, data, training=True)
    keras.utils.set_random_seed(0)
    np.testing.assert_array_equal(models.results(copy, data, training=True), expected)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")  # Keras reads its own file
def test_a_copy_can_be_saved_and_loaded(tmp_path):
    import keras

    model = models.nested_twice()
    copy = rebuild_graph(graph_of(model))
    copy.save(tmp_path / "copy.keras")
    loaded = keras.models.load_model(tmp_path / "copy.keras")
    data = models.data_for(model)
    np.testing.assert_array_equal(models.results(loaded, data), models.results(model, data))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_calls_come_after_those_they_need():
    graph = graph_of(models.residual())
    known = set(graph.inputs)
    for call in graph.calls:
        assert known.issuperset(call.inputs)
        known.update(call.outputs)
    assert known.issuperset(graph.outputs)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_tensor_used_twice_by_one_call_has_one_user():
    import keras

    x = keras.Input((3,))
    graph = graph_of(keras.Model(x, keras.layers.Add()([x, x])))
    assert graph.calls[0].inputs == (0, 0)
    assert graph.users(0) == [graph.calls[0]]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_shared_layer_has_all_its_calls_and_stays_shared():
    model = models.shared()
    graph = graph_of(model)
    calls = graph.calls_of(model.get_layer("shared"))
    assert len(calls) == 2
    assert graph.calls_of(object()) == []
    copy = rebuild_graph(graph)
    assert copy.count_params() == model.count_params()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_nested_model_is_dissolved_and_only_colliding_names_change():
    graph = graph_of(models.nested_functional())
    names = [call.name for call in graph.calls]
    assert names[:4] == ["backbone_conv", "norm", "act", "conv"]
    # Its own input was (None, None, None, 3); here it is called on 8×8 images.
    assert graph.shape_of(graph.call_named("norm").outputs[0]) == (None, 8, 8, 4)
    # It was called with training=False, and so are its layers.
    assert graph.call_named("norm").kwargs["training"] is False


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_nested_model_called_twice_is_made_of_shared_layers():
    model = models.nested_twice()
    graph = graph_of(model)
    dense = model.get_layer("twin").layers[0]
    assert len(graph.calls_of(dense)) == 2
    assert rebuild_graph(graph).count_params() == model.count_params()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_output_keeps_the_name_of_the_nested_model_it_comes_from():
    model = models.nested_sequential()
    copy = rebuild_graph(graph_of(model))
    assert model.output_names == ["head"]
    assert copy.output_names == ["head"]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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

    student = rebuild_graph(graph_of(model), make)
    names = [layer.name for layer in student.layers]
    assert "conv_a_depth" in names
    assert "act_a" not in names
    assert student.output_shape == model.output_shape
    kept = student.get_layer("conv_b").get_weights()
    np.testing.assert_array_equal(kept, model.get_layer("conv_b").get_weights())


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_wrong_number_of_tensors_from_make_is_an_error():
    with pytest.raises(ModelError, match="in place of 'stem' gives 2 tensors, and 1 are needed"):
        rebuild_graph(graph_of(models.residual()), lambda call, tensors: [tensors[0], tensors[0]])


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_copied_compiles_the_copy_like_the_model():
    model = models.sequential()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    copy = copied(model)
    copy.fit(models.data_for(model), np.zeros(12), verbose=0)
    assert copy.optimizer is not model.optimizer
    assert int(model.optimizer.iterations) == 0
    assert not copied(models.flattened()).compiled


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_what_was_frozen_stays_frozen_when_a_nested_model_is_dissolved():
    model = models.nested_functional()
    backbone = model.get_layer("backbone")
    backbone.trainable = False
    assert len(rebuild_graph(graph_of(model)).trainable_variables) == 2
    backbone.get_layer("conv").trainable = True  # Keras trains it, frozen as the model around it is
    copy = rebuild_graph(graph_of(model))
    assert len(copy.trainable_variables) == len(model.trainable_variables) == 4
    model.trainable = False
    assert rebuild_graph(graph_of(model)).trainable_variables == []


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_functional_model_with_its_own_call_is_refused():
    import keras

    class Doubled(keras.Model):
        def call(self, inputs):
            return 2 * super().call(inputs)

    x = keras.Input((3,))
    with pytest.raises(ModelError, match="subclassed: the layers of Doubled"):
        graph_of(Doubled(x, keras.layers.Dense(2)(x)))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_unbuilt_sequential_is_refused_with_what_to_do():
    import keras

    model = keras.Sequential([keras.layers.Dense(2, name="first")], name="open")
    with pytest.raises(ModelError, match=r"'open' does not know the shape.*'first'.*model\.build"):
        graph_of(model)
    with pytest.raises(ModelError, match="has no layers"):
        graph_of(keras.Sequential(name="empty"))
    model.build((None, 3))
    assert len(graph_of(model).calls) == 1


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_tensors_take_their_places_among_constants():
    call = Call(
        None, "op", (1, 2), (3,), ([Ref(1), 5], slice(0, 2)), {"mask": Ref(2), "axis": None}
    )
    args, kwargs = call.arguments({1: "x", 2: "m"})
    assert args == (["x", 5], slice(0, 2))
    assert kwargs == {"mask": "m", "axis": None}


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_tensors_are_found_by_the_argument_they_were_given_as():
    import keras

    x, y, m = keras.Input((3, 4)), keras.Input((5, 4)), keras.Input((3, 5), dtype="bool")
    heads = keras.layers.MultiHeadAttention(2, 2)
    model = keras.Model([x, y, m], heads(x, key=y, value=y, attention_mask=m))
    found = graph_of(model).calls[0].tensors_by_argument()
    assert found == {"query": (0,), "value": (1,), "key": (1,), "attention_mask": (2,)}


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_arguments_that_keras_added_are_left_out_where_they_are_not_taken():
    import keras

    x = keras.Input((3,))
    norm = keras.layers.BatchNormalization()
    call = graph_of(keras.Model(x, norm(x))).calls[0]
    assert "mask" in call.kwargs

    class Doubled(keras.layers.Layer):
        def call(self, x):
            return 2 * x

    made = call.replay(Doubled(), [np.ones((1, 3), "float32")], training=False)
    np.testing.assert_array_equal(made, np.full((1, 3), 2.0))


def inner(shape=(4,), dtype=None):
    import keras

    layers = [keras.Input(shape, dtype=dtype), keras.layers.Dense(3, name="inside")]
    return keras.Sequential(layers, name="inner")


def assert_copies_exactly(model):
    data = models.data_for(models.settled(model))
    copy = rebuild_graph(graph_of(model))
    for ours, theirs in zip(models.results(copy, data), models.results(model, data), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return copy


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_models_within_models_dissolve_too():
    import keras

    x = keras.Input((4,), name="middle_in")
    middle = keras.Model(x, inner()(x), name="middle")
    x = keras.Input((4,))
    model = keras.Model(x, keras.layers.ReLU()(middle(x)))
    assert graph_of(model).calls[0].name == "inside"
    assert_copies_exactly(model)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_that_casts_its_input_stays_whole():
    import keras

    x = keras.Input((4,), dtype="int32")
    model = keras.Model(x, inner()(x))
    assert [call.name for call in graph_of(model).calls] == ["inner"]
    assert_copies_exactly(model)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_that_squeezes_its_input_stays_whole():
    import keras

    x = keras.Input((4, 1))
    model = keras.Model(x, inner()(x))
    assert [call.name for call in graph_of(model).calls] == ["inner"]
    copy = assert_copies_exactly(model)
    assert copy.get_layer("inner") is not model.get_layer("inner")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_half_precision_between_models_does_not_keep_them_whole():
    import keras

    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        x = keras.Input((6,))
        model = keras.Model(x, inner()(keras.layers.Dense(4, name="before")(x)))
        layers = [call.layer.name for call in graph_of(model).calls]
        assert layers == ["before", "inside"]
        copy = assert_copies_exactly(model)
    finally:
        keras.config.set_dtype_policy(policy)
    assert copy.dtype_policy.name == "mixed_float16"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_that_picks_inputs_by_name_stays_whole():
    import keras

    a, b = keras.Input((2,), name="a"), keras.Input((2,), name="b")
    body = keras.Model([b, a], keras.layers.Subtract()([b, a]), name="inner")
    x, y = keras.Input((2,)), keras.Input((2,))
    model = keras.Model([x, y], body({"a": x, "b": y}))
    assert [call.name for call in graph_of(model).calls] == ["inner"]
    assert_copies_exactly(model)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:Layer 'encoder'")  # that it ends there, as it should
def test_a_model_that_is_handed_a_mask_stays_whole():
    import keras

    steps = keras.Input((5, 6))
    encoder = keras.Model(steps, keras.layers.LSTM(3)(steps), name="encoder")
    words = keras.Input((5,), dtype="int32")
    embedded = keras.layers.Embedding(20, 6, mask_zero=True)(words)
    model = keras.Model(words, encoder(embedded))
    assert "encoder" in [call.name for call in graph_of(model).calls]
    assert_copies_exactly(model)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_frozen_model_that_stays_whole_stays_frozen():
    import keras

    x = keras.Input((4, 1))
    model = keras.Model(x, inner()(x))
    model.get_layer("inner").trainable = False
    assert rebuild_graph(graph_of(model)).trainable_variables == []


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_with_two_inputs_in_a_list_dissolves():
    import keras

    a, b = keras.Input((2,)), keras.Input((2,))
    body = keras.Model([a, b], keras.layers.Subtract(name="inside")([a, b]), name="inner")
    x, y = keras.Input((2,)), keras.Input((2,))
    model = keras.Model([x, y], keras.layers.ReLU()(body([y, x])))
    graph = graph_of(model)
    assert graph.calls[0].name == "inside"
    assert graph.calls[0].inputs == (1, 0)
    assert_copies_exactly(model)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_very_deep_model_is_walked_without_recursion():
    import sys

    import keras

    x = inputs = keras.Input((2,))
    layers = [keras.layers.Identity() for _ in range(400)]
    for layer in layers:
        x = layer(x)
    model = keras.Model(inputs, x)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    try:
        assert len(list(in_order(body_of(model)))) == 400
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_input_that_nobody_uses_stays_an_input():
    import keras

    used, unused = keras.Input((2,), name="used"), keras.Input((3,), name="unused")
    model = keras.Model([used, unused], keras.layers.Dense(2)(used))
    copy = rebuild_graph(graph_of(model))
    assert [tensor.name for tensor in copy.inputs] == ["used", "unused"]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_output_may_be_an_input_or_come_twice():
    import keras

    x = keras.Input((2,))
    y = keras.layers.ReLU()(x)
    graph = graph_of(keras.Model(x, [y, x, y]))
    assert graph.outputs == (1, 0, 1)
    assert len(rebuild_graph(graph).outputs) == 3


def layer(name):
    return SimpleNamespace(name=name)


def test_a_free_name_is_kept_and_a_taken_one_gets_the_names_around_it():
    names = LayerNames(["input"])
    first, second, third = layer("conv"), layer("conv"), layer("input")
    names.add(first, ())
    names.add(second, ("outer", "inner"))
    names.add(third, ("outer",))
    assert [names[item] for item in (first, second, third)] == [
        "conv",
        "outer_inner_conv",
        "outer_input",
    ]


def test_names_that_collide_all_the_same_are_numbered():
    names = LayerNames(["a_conv", "conv"])
    items = [layer("conv"), layer("conv")]
    for item in items:
        names.add(item, ("a",))
    assert [names[item] for item in items] == ["a_conv_1", "a_conv_2"]


def test_a_layer_keeps_the_name_it_got_first():
    names = LayerNames([])
    item = layer("conv")
    names.fix(item, "head")
    names.add(item, ())
    assert names[item] == "head"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_shapes_follow_the_inputs():
    import keras

    graph = graph_of(models.nested_functional())
    specs = specs_from(graph.calls, {0: keras.KerasTensor((2, 8, 8, 3))})
    assert tuple(specs[graph.call_named("act").outputs[0]].shape) == (2, 8, 8, 4)
    assert tuple(specs[graph.outputs[0]].shape) == (2, 5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_arguments_that_keras_adds_do_not_disturb():
    import keras

    x = keras.Input((None, 3))
    inner = keras.Model(x, keras.layers.Add()([keras.layers.Dropout(0.5)(x), x]))
    x = keras.Input((4, 3))
    graph = graph_of(keras.Model(x, inner(x, training=True)))
    assert [call.kwargs["training"] for call in graph.calls] == [True, True]
    assert graph.shape_of(graph.outputs[0]) == (None, 4, 3)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_einsum_that_forgets_sizes_is_helped():
    import keras

    x = keras.Input((7, 12))
    y = keras.layers.EinsumDense("abc,cd->abd", (None, 4))(x)
    graph = graph_of(keras.Model(x, y))
    specs = specs_from(graph.calls, {0: keras.KerasTensor((2, 7, 12))})
    assert tuple(specs[1].shape) == (2, 7, 4)
