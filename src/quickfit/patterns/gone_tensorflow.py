"""Names that TensorFlow 2 does not have, and what has taken their place."""

from __future__ import annotations


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
