import keras
from keras import layers


def augmentation():
    return keras.Sequential(
        [
            layers.RandomFlip("horizontal"),
            layers.RandomRotation(0.05),
            layers.RandomContrast(0.1),
        ],
        name="augmentation",
    )


def residual_block(x, filters, stride=1):
    shortcut = x
    x = layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    if stride != 1 or shortcut.shape[-1] != filters:
        shortcut = layers.Conv2D(filters, 1, strides=stride, use_bias=False)(shortcut)
        shortcut = layers.BatchNormalization()(shortcut)
    return layers.ReLU()(layers.Add()([x, shortcut]))


def build_model(cfg, n_classes):
    inputs = keras.Input((cfg.image_size, cfg.image_size, 3))
    x = augmentation()(inputs)
    x = layers.Rescaling(1.0 / 255)(x)
    x = layers.Conv2D(cfg.width, 3, padding="same")(x)
    for i in range(cfg.depth):
        x = residual_block(x, cfg.width * 2**i, stride=1 if i == 0 else 2)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(cfg.dropout)(x)
    outputs = layers.Dense(n_classes, activation="softmax", dtype="float32")(x)
    return keras.Model(inputs, outputs, name="mushroom_net")
