# EXPECT keras2-fit-arguments file=experiment.py line=23
# NOTE the FIT dict of config.py carries max_queue_size, unpacked into model.fit in experiment.py; a report on the dict entry in config.py would do too
# SEEN TypeError: TensorFlowTrainer.fit() got an unexpected keyword argument 'max_queue_size'
import keras

import config
from experiment import Experiment, toy


def main():
    keras.utils.set_random_seed(config.SEED)
    x, y = toy(seed=config.SEED)
    experiment = Experiment(config.MODEL, config.COMPILE, config.FIT)
    history = experiment.build(x.shape[1]).run(x, y)
    print(history.history["val_mae"])


if __name__ == "__main__":
    main()
