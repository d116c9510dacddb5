import logging

import keras

from estimators import build_estimator
from settings import DataSettings, ModelSettings, RunSettings
from warehouse import load_customers

log = logging.getLogger("churn")


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    data, ms, run = DataSettings(), ModelSettings(), RunSettings()
    keras.utils.set_random_seed(data.seed)
    (x, y), (xv, yv) = load_customers(data)
    log.info("run: %s", run.describe())
    model = build_estimator(data.features, ms)
    hist = model.fit(x, y, validation_data=(xv, yv), epochs=run.epochs,
                     batch_size=run.batch_size, verbose=0)
    log.info("val auc %.4f", hist.history["val_auc"][-1])


if __name__ == "__main__":
    main()
