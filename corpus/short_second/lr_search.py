# find a good learning rate for the tabular net, 2 repeats each
import numpy as np
import keras
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

X, y = make_classification(n_samples=900, n_features=40, n_informative=12, random_state=0)
X = StandardScaler().fit_transform(X).astype('float32')
Xtr, Xva, ytr, yva = train_test_split(X, y, test_size=0.25, random_state=0)


def make_net(lr):
    inp = keras.Input((40,))
    h = layers.Dense(64)(inp)
    for _ in range(8):
        r = layers.BatchNormalization()(h)
        r = layers.Activation('relu')(r)
        r = layers.Dense(64)(r)
        h = layers.Add()([h, r])
    out = layers.Dense(1, activation='sigmoid')(h)
    net = keras.Model(inp, out)
    net.compile(optimizer=keras.optimizers.SGD(lr, momentum=0.9),
                loss='binary_crossentropy', metrics=['accuracy'])
    return net


results = []
for lr in [1e-4, 1e-3, 1e-2, 1e-1]:
    scores = []
    for rep in range(2):
        net = make_net(lr)
        hist = net.fit(Xtr, ytr, epochs=3, batch_size=64, validation_data=(Xva, yva), verbose=0)
        scores.append(hist.history['val_accuracy'][-1])
    results.append((float(np.mean(scores)), lr))
    print(f'lr={lr:<8} val_acc={results[-1][0]:.3f}')

print('best:', max(results))
