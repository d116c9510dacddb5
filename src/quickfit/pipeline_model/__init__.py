"""tf.data's own model of a pipeline: what its nodes mean, cost and limit. Needs no TensorFlow."""
