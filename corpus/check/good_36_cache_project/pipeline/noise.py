"""Augmentation for sensor windows."""
import tensorflow as tf


def jitter(window, sigma=0.05):
    return window + tf.random.normal(tf.shape(window), stddev=sigma)


def random_gain(window, low=0.9, high=1.1):
    return window * tf.random.uniform([], low, high)


def augment(window, label):
    return random_gain(jitter(window)), label
