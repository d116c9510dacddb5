import config
import features
from model import churn_model

x, y = features.load()
print("features:", x.shape)
m = churn_model(x.shape[1])
m.fit(x, y, batch_size=config.BATCH, epochs=config.EPOCHS, validation_split=0.1, verbose=2)
