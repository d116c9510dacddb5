"""Names that Keras 3 and TensorFlow 2 do not have, and what has taken their place."""

from __future__ import annotations

from dataclasses import dataclass


def _each(module: str, names: str) -> dict[str, str]:
    """Return names of TensorFlow 1 that a module has now, under the same last name."""
    return {f"tensorflow.{name}": f"tensorflow.{module}.{name}" for name in names.split()}


# They take the same arguments, as far as people give them.
INSTEAD = {
    **_each("math", "log log1p lgamma digamma erf erfc ceil rsqrt is_nan is_inf is_finite"),
    **_each("math", "polyval segment_sum segment_mean zero_fraction confusion_matrix angle"),
    **_each("linalg", "svd qr cholesky trace cross matrix_transpose global_norm logdet"),
    **_each("io", "decode_raw parse_example parse_single_example FixedLenFeature VarLenFeature"),
    **_each("io", "FixedLenSequenceFeature write_file serialize_tensor parse_tensor"),
    **_each("nn", "space_to_depth depth_to_space"),
    "tensorflow.random_normal": "tensorflow.random.normal",
    "tensorflow.random_uniform": "tensorflow.random.uniform",
    "tensorflow.truncated_normal": "tensorflow.random.truncated_normal",
    "tensorflow.random_shuffle": "tensorflow.random.shuffle",
    "tensorflow.random_crop": "tensorflow.image.random_crop",
    "tensorflow.set_random_seed": "tensorflow.random.set_seed",
    "tensorflow.matrix_inverse": "tensorflow.linalg.inv",
    "tensorflow.matrix_determinant": "tensorflow.linalg.det",
    "tensorflow.matrix_solve": "tensorflow.linalg.solve",
    "tensorflow.self_adjoint_eig": "tensorflow.linalg.eigh",
    "tensorflow.matrix_diag": "tensorflow.linalg.diag",
    "tensorflow.matrix_band_part": "tensorflow.linalg.band_part",
    "tensorflow.string_to_number": "tensorflow.strings.to_number",
    "tensorflow.string_join": "tensorflow.strings.join",
    "tensorflow.sparse_tensor_to_dense": "tensorflow.sparse.to_dense",
    "tensorflow.arg_max": "tensorflow.argmax",
    "tensorflow.div": "tensorflow.divide",
    "tensorflow.mod": "tensorflow.math.floormod",
    "tensorflow.py_func": "tensorflow.numpy_function",
    "tensorflow.python_io.TFRecordWriter": "tensorflow.io.TFRecordWriter",
    "tensorflow.gfile.GFile": "tensorflow.io.gfile.GFile",
    "tensorflow.gfile.Open": "tensorflow.io.gfile.GFile",
    "tensorflow.gfile.Exists": "tensorflow.io.gfile.exists",
    "tensorflow.gfile.Glob": "tensorflow.io.gfile.glob",
    "tensorflow.gfile.MakeDirs": "tensorflow.io.gfile.makedirs",
    "tensorflow.gfile.ListDirectory": "tensorflow.io.gfile.listdir",
    "tensorflow.nn.softmax_cross_entropy_with_logits_v2": (
        "tensorflow.nn.softmax_cross_entropy_with_logits"
    ),
}
_V1 = "`tf.compat.v1`"
_OPTIMIZERS = (
    *("Adam", "GradientDescent", "Momentum", "RMSProp", "Adagrad", "Adadelta", "Ftrl"),
    *("ProximalGradientDescent",),
)
_GRAPH = """Session InteractiveSession placeholder placeholder_with_default ConfigProto GPUOptions
    get_variable get_variable_scope variable_scope global_variables global_variables_initializer
    initialize_all_variables local_variables_initializer tables_initializer trainable_variables
    reset_default_graph get_default_graph get_default_session get_collection add_to_collection
    GraphKeys AUTO_REUSE assign assign_add assign_sub enable_eager_execution
    disable_eager_execution enable_v2_behavior disable_v2_behavior to_float to_int32 to_int64
    to_double multinomial sparse_placeholder sparse_to_dense layers logging app flags gfile
    python_io contrib estimator Dimension report_uninitialized_variables"""
_SUMMARY = "FileWriter merge_all merge"
_TRAIN = """Saver exponential_decay get_global_step get_or_create_global_step
    MonitoredTrainingSession import_meta_graph Scaffold SessionRunHook polynomial_decay
    piecewise_constant cosine_decay string_input_producer shuffle_batch slice_input_producer
    start_queue_runners batch"""
_NN = """dynamic_rnn bidirectional_dynamic_rnn static_rnn rnn_cell xw_plus_b
    static_bidirectional_rnn"""
# Where something else is to be used, what it is.
HINTS = {
    **{f"tensorflow.{name}": _V1 for name in _GRAPH.split()},
    **{f"tensorflow.summary.{name}": _V1 for name in _SUMMARY.split()},
    **{f"tensorflow.train.{name}": _V1 for name in _TRAIN.split()},
    **{f"tensorflow.train.{name}Optimizer": "`tf.keras.optimizers`" for name in _OPTIMIZERS},
    **{f"tensorflow.nn.{name}": "`tf.keras.layers.RNN`" for name in _NN.split()},
    "tensorflow.nn.xw_plus_b": "`tf.matmul` and `+`",
    "tensorflow.contrib": "",
    "tensorflow.estimator": "Keras",
    "tensorflow.app": "`absl.app`",
    "tensorflow.flags": "`absl.flags`",
    "tensorflow.logging": "`tf.get_logger()`",
    "tensorflow.layers": "`tf.keras.layers`",
    "tensorflow.gfile": "`tf.io.gfile`",
    "tensorflow.python_io": "`tf.io`",
    "tensorflow.to_float": "`tf.cast`",
    "tensorflow.to_int32": "`tf.cast`",
    "tensorflow.to_int64": "`tf.cast`",
    "tensorflow.to_double": "`tf.cast`",
    "tensorflow.enable_eager_execution": "nothing: TensorFlow 2 is eager by itself",
    "tensorflow.enable_v2_behavior": "nothing: it is the default",
    "tensorflow.image.resize_images": "`tf.image.resize`",
    "tensorflow.image.resize_bilinear": "`tf.image.resize`",
    "tensorflow.image.resize_nearest_neighbor": "`tf.image.resize`",
    "tensorflow.image.resize_bicubic": "`tf.image.resize`",
    "tensorflow.image.resize_image_with_crop_or_pad": "`tf.image.resize_with_crop_or_pad`",
    "tensorflow.train.batch": "`tf.data`",
    "tensorflow.train.shuffle_batch": "`tf.data`",
}


_TF_KERAS = "tensorflow.keras"


@dataclass(frozen=True)
class Gone:
    """A name that is gone.

    Args:
        name: the full name, the shortest part of it that is gone.
        instead: the full name of what has taken its place, with the same arguments; or empty.
        hint: what to use where nothing has taken its place as it was.
    """

    name: str
    instead: str = ""
    hint: str = ""


def _same(old: str, new: str, names: str) -> dict[str, str]:
    """Return names that another module has now, under the same last name."""
    return {f"{old}.{name}": f"{new}.{name}" for name in names.split()}


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _none(module: str, names: str, hint: str) -> dict[str, str]:
    return {f"{module}.{name}": hint for name in names.split()}


# -- Keras ----------------------------------------------------------------------------------

# Modules of files that were never meant to be public, and the module that has their names.
_LAYER_FILES = (
    *("core", "convolutional", "pooling", "recurrent", "normalization", "embeddings", "merge"),
    *("advanced_activations", "wrappers", "noise", "local", "convolutional_recurrent"),
    *("cudnn_recurrent", "experimental", "experimental.preprocessing", "preprocessing"),
)
MOVED_MODULES = {
    **{f"keras.layers.{name}": "keras.layers" for name in _LAYER_FILES},
    **{
        f"keras.utils.{name}": "keras.utils"
        for name in ("np_utils", "vis_utils", "generic_utils", "data_utils", "layer_utils")
    },
    "keras.utils.all_utils": "keras.utils",
    "keras.engine.training": "keras.models",
    "keras.engine.topology": "keras.layers",
    "keras.engine.base_layer": "keras.layers",
    "keras.engine.input_layer": "keras.layers",
    "keras.engine": "keras.layers",
    "keras.objectives": "keras.losses",
    "keras.optimizers.experimental": "keras.optimizers",
    "keras.mixed_precision.experimental": "keras.mixed_precision",
}
# What those modules have now, of what people import from them.
STILL_THERE = {
    "keras.layers": _words(
        """Activation ActivityRegularization Add AlphaDropout Attention Average AveragePooling1D
        AveragePooling2D AveragePooling3D BatchNormalization Bidirectional CategoryEncoding
        CenterCrop Concatenate Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D
        Conv3DTranspose ConvLSTM2D Convolution1D Convolution2D Cropping1D Cropping2D Cropping3D
        Dense DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense Embedding Flatten GRU
        GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D
        GlobalMaxPooling1D GlobalMaxPooling2D Hashing HashedCrossing Input InputLayer InputSpec
        IntegerLookup LSTM LSTMCell Lambda Layer LayerNormalization LeakyReLU Masking MaxPool2D
        MaxPooling1D MaxPooling2D MaxPooling3D Maximum Minimum MultiHeadAttention Multiply
        Normalization PReLU Permute RNN RandomBrightness RandomContrast RandomCrop RandomFlip
        RandomRotation RandomTranslation RandomZoom ReLU RepeatVector Rescaling Reshape Resizing
        SeparableConv2D SimpleRNN Softmax SpatialDropout1D SpatialDropout2D StackedRNNCells
        StringLookup Subtract TextVectorization TimeDistributed UpSampling1D UpSampling2D
        UpSampling3D Wrapper ZeroPadding1D ZeroPadding2D ZeroPadding3D add average concatenate
        dot maximum minimum multiply subtract"""
    ),
    "keras.utils": _words(
        """CustomObjectScope Progbar Sequence custom_object_scope deserialize_keras_object
        get_custom_objects get_file get_source_inputs model_to_dot normalize plot_model
        serialize_keras_object to_categorical"""
    ),
    "keras.models": frozenset(("Model",)),
    "keras.losses": frozenset(("binary_crossentropy", "categorical_crossentropy")),
    "keras.optimizers": _words(
        "Adadelta Adagrad Adam AdamW Adamax Ftrl Nadam Optimizer RMSprop SGD"
    ),
    "keras.mixed_precision": frozenset(("LossScaleOptimizer", "Policy", "global_policy")),
}
_LEARNING_PHASE = "the argument `training` of a call"
_HINTS = {
    "keras.wrappers.scikit_learn": "`scikeras.wrappers`, or `keras.wrappers.SKLearnClassifier`",
    "keras.legacy.interfaces": "",
    "keras.estimator": "",
    "keras.premade": "",
    "keras.experimental": "",
    "keras.layers.CuDNNLSTM": "`LSTM`, which uses cuDNN by itself",
    "keras.layers.CuDNNGRU": "`GRU`, which uses cuDNN by itself",
    "keras.layers.LocallyConnected1D": "",
    "keras.layers.LocallyConnected2D": "",
    "keras.layers.DenseFeatures": "`keras.utils.FeatureSpace`",
    "keras.layers.AbstractRNNCell": "a `Layer` with `state_size`",
    "keras.layers.MaxoutDense": "",
    "keras.layers.Merge": "`Concatenate`, `Add` or another layer that merges",
    "keras.layers.Highway": "",
    "keras.models.model_from_yaml": "`model_from_json`",
    "keras.models.model_from_config": "`Model.from_config`",
    "keras.models.Graph": "",
    "keras.utils.multi_gpu_model": "`tf.distribute.MirroredStrategy`",
    "keras.utils.multi_gpu_utils": "`tf.distribute.MirroredStrategy`",
    "keras.utils.training_utils": "`tf.distribute.MirroredStrategy`",
    "keras.utils.HDF5Matrix": "`h5py`",
    "keras.utils.io_utils": "`h5py`",
    "keras.utils.OrderedEnqueuer": "`keras.utils.PyDataset`",
    "keras.utils.GeneratorEnqueuer": "`keras.utils.PyDataset`",
    "keras.utils.SequenceEnqueuer": "`keras.utils.PyDataset`",
    "keras.utils.experimental": "",
    "keras.utils.convert_all_kernels_in_model": "",
    "keras.callbacks.BaseLogger": "",
    "keras.callbacks.experimental": "`keras.callbacks.BackupAndRestore`",
    "keras.metrics.MeanTensor": "",
    "keras.metrics.MeanRelativeError": "",
    "keras.backend.tensorflow_backend": "`keras.backend`",
    "keras.backend.set_session": "`tf.config`, which sets devices and memory",
    "keras.backend.get_session": "",
    "keras.backend.get_graph": "",
    "keras.backend.function": "`keras.Model(inputs, outputs)`",
    "keras.backend.placeholder": "`keras.Input`",
    "keras.backend.set_image_dim_ordering": "`set_image_data_format`",
    "keras.backend.image_dim_ordering": "`image_data_format`",
    "keras.backend.logsumexp": "`keras.ops.logsumexp`",
    "keras.backend.print_tensor": "`tf.print`",
    "keras.backend.manual_variable_initialization": "",
    **_none(
        "keras.backend",
        "learning_phase set_learning_phase learning_phase_scope in_train_phase in_test_phase",
        _LEARNING_PHASE,
    ),
}
_INSTEAD = {
    **MOVED_MODULES,
    "keras.callbacks.experimental.BackupAndRestore": "keras.callbacks.BackupAndRestore",
    "keras.mixed_precision.experimental.set_policy": "keras.mixed_precision.set_global_policy",
    "keras.losses.cosine_proximity": "keras.losses.cosine_similarity",
    "keras.metrics.cosine_proximity": "keras.losses.cosine_similarity",
}

# `import keras` has lost these; `tf.keras` still has them.
_BACKEND = """abs all any arange argmax argmin batch_dot batch_flatten batch_get_value
    batch_normalization batch_set_value bias_add binary_crossentropy cast cast_to_floatx
    categorical_crossentropy clip concatenate constant conv1d conv2d conv2d_transpose conv3d cos
    count_params ctc_batch_cost ctc_decode cumprod cumsum depthwise_conv2d dot dropout dtype elu
    equal eval exp expand_dims eye flatten foldl foldr gather get_value gradients greater
    greater_equal hard_sigmoid in_top_k int_shape is_sparse l2_normalize less less_equal log
    map_fn max maximum mean min minimum ndim not_equal one_hot ones ones_like permute_dimensions
    pool2d pool3d pow prod random_bernoulli random_normal random_uniform relu repeat
    repeat_elements reshape resize_images reverse rnn round separable_conv2d set_value shape
    sigmoid sign sin softmax softplus softsign sparse_categorical_crossentropy
    spatial_2d_padding sqrt square squeeze stack std stop_gradient sum switch tanh
    temporal_padding tile to_dense transpose truncated_normal update update_add update_sub var
    variable zeros zeros_like"""
_IMAGE = "ImageDataGenerator DirectoryIterator NumpyArrayIterator Iterator random_rotation"
PLAIN_ONLY = {
    **_same("keras.backend", f"{_TF_KERAS}.backend", _BACKEND),
    **_same("keras.preprocessing.image", f"{_TF_KERAS}.preprocessing.image", _IMAGE),
    "keras.preprocessing.text": f"{_TF_KERAS}.preprocessing.text",
    **_same(
        "keras.preprocessing.sequence",
        f"{_TF_KERAS}.preprocessing.sequence",
        "TimeseriesGenerator skipgrams make_sampling_table",
    ),
    **_same("keras.layers", f"{_TF_KERAS}.layers", "ThresholdedReLU RandomHeight RandomWidth"),
    "keras.losses.Reduction": f"{_TF_KERAS}.losses.Reduction",
    **{
        f"keras.{part}.{short}": f"keras.{part}.{name}"
        for part in ("losses", "metrics")
        for name, shorts in (
            ("mean_squared_error", ("MSE", "mse")),
            ("mean_absolute_error", ("MAE", "mae")),
            ("mean_absolute_percentage_error", ("MAPE", "mape")),
            ("mean_squared_logarithmic_error", ("MSLE", "msle")),
            ("kl_divergence", ("KLD", "kld", "kullback_leibler_divergence")),
        )
        for short in shorts
    },
    "keras.losses.logcosh": "keras.losses.log_cosh",
    "keras.metrics.logcosh": "keras.metrics.log_cosh",
}
# `tf.keras` has lost these; `import keras` has them.
TF_ONLY = {
    f"keras.{part}.{name}": f"keras.{part}.{short}"
    for part in ("losses", "metrics")
    for name, short in (
        ("mean_squared_error", "mse"),
        ("mean_absolute_error", "mae"),
        ("mean_absolute_percentage_error", "mape"),
        ("mean_squared_logarithmic_error", "msle"),
        ("kl_divergence", "kld"),
        ("log_cosh", "logcosh"),
    )
}


_BOTH = {**dict.fromkeys(_HINTS, ""), **_INSTEAD}
_TABLES = {
    "tensorflow.keras": {**_BOTH, **TF_ONLY},
    "keras": {**_BOTH, **PLAIN_ONLY},
    "tensorflow": {**INSTEAD, **dict.fromkeys(HINTS, "")},
}
# The last parts of all these names: what has none of them need not be looked up.
LAST_NAMES = frozenset(name.rsplit(".", 1)[1] for table in _TABLES.values() for name in table)


def gone(name: str) -> Gone | None:
    """Return the longest part of a full name that is gone: of `keras.layers.core.Dense`, the file.

    Args:
        name: as the imports of its file write it, with `tensorflow.keras` or with `keras`.
    """
    library = next((lib for lib in _TABLES if name.startswith(f"{lib}.")), "")
    if not library:
        return None
    full = "keras" + name.removeprefix(_TF_KERAS) if library == _TF_KERAS else name
    parts = full.split(".")
    for length in range(len(parts), 1, -1):
        part = ".".join(parts[:length])
        if part in _TABLES[library]:
            return _gone(part, _TABLES[library][part], is_tf=library == _TF_KERAS)
    return None


def _gone(name: str, instead: str, *, is_tf: bool) -> Gone:
    hint = _HINTS.get(name, "") or HINTS.get(name, "")
    if is_tf:
        name = _TF_KERAS + name.removeprefix("keras")
        instead = _TF_KERAS + instead.removeprefix("keras") if instead else ""
    return Gone(name, instead, hint)
