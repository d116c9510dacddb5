import tempfile

import tensorflow as tf


class Keeper:
    every = 1

    def __init__(self, net, opt):
        ck = tf.train.Checkpoint(net=net, opt=opt)
        self.manager = tf.train.CheckpointManager(ck, tempfile.mkdtemp(), max_to_keep=3)
        self.n = 0

    def tick(self):
        self.n += 1
        if self.n % self.every == 0:
            self.manager.save()
