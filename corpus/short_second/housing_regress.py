import numpy as np
from tensorflow.keras.models import Sequential
from tensorflow.keras.layers import Dense, Dropout, Input
from sklearn.datasets import make_regression
from sklearn.model_selection import train_test_split

X, y = make_regression(n_samples=5000, n_features=20, noise=5.0, random_state=1)
y = (y - y.mean()) / y.std()
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.1, random_state=1)

reg = Sequential()
reg.add(Input((20,)))
reg.add(Dense(64, activation='relu'))
reg.add(Dropout(0.1))
reg.add(Dense(64, activation='relu'))
reg.add(Dense(1))
reg.compile(loss='mean_squared_error', optimizer='adam', metrics=['mae'])

reg.fit(X_train, y_train, batch_size=1, epochs=1, verbose=2)
print('test mse, mae:', reg.evaluate(X_test, y_test, batch_size=256, verbose=0))
