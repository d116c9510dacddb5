# EXPECT: ImageDataGenerator.flow_from_directory decodes and resizes all JPEGs in Python each epoch (training and validation subset), one worker
# TWIST: none
'''
Building a tiny image classifier with very little data
(adapted from the old Keras blog post)

folder layout:
    06_flow_from_directory/
        grass/  ihc/  motorcycle/
'''
import os
import numpy as np
from PIL import Image
from skimage import data as sample_images
from tensorflow.keras.preprocessing.image import ImageDataGenerator
from tensorflow.keras.models import Sequential
from tensorflow.keras.layers import Conv2D, MaxPooling2D
from tensorflow.keras.layers import Activation, Dropout, Flatten, Dense
from tensorflow.keras import backend as K

# dimensions of our images.
img_width, img_height = 90, 90

train_data_dir = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', '06_flow_from_directory')
epochs = 20
batch_size = 16

if not os.path.isdir(train_data_dir):
    print('preparing images, only once ...')
    rs = np.random.RandomState(21)
    originals = {'grass': np.stack([sample_images.grass()] * 3, -1),
                 'ihc': sample_images.immunohistochemistry(),
                 'motorcycle': sample_images.stereo_motorcycle()[0]}
    for cls, arr in originals.items():
        os.makedirs(os.path.join(train_data_dir, cls))
        for i in range(130):
            size = rs.randint(300, 460)
            top, left = rs.randint(0, arr.shape[0] - size), rs.randint(0, arr.shape[1] - size)
            piece = arr[top:top + size, left:left + size]
            if i % 2:
                piece = piece[:, ::-1]
            Image.fromarray(np.ascontiguousarray(piece)).save(os.path.join(train_data_dir, cls, '%s.%d.jpg' % (cls, i)))

if K.image_data_format() == 'channels_first':
    input_shape = (3, img_width, img_height)
else:
    input_shape = (img_width, img_height, 3)

model = Sequential()
model.add(Conv2D(8, (3, 3), strides=(2, 2), input_shape=input_shape))
model.add(Activation('relu'))
model.add(MaxPooling2D(pool_size=(2, 2)))

model.add(Conv2D(16, (3, 3)))
model.add(Activation('relu'))
model.add(MaxPooling2D(pool_size=(2, 2)))

model.add(Flatten())
model.add(Dense(16))
model.add(Activation('relu'))
model.add(Dense(3))
model.add(Activation('softmax'))

model.compile(loss='categorical_crossentropy', optimizer='rmsprop', metrics=['accuracy'])

# only rescaling
datagen = ImageDataGenerator(rescale=1. / 255, validation_split=0.2)

train_generator = datagen.flow_from_directory(
    train_data_dir,
    target_size=(img_width, img_height),
    batch_size=batch_size,
    class_mode='categorical',
    subset='training',
    seed=8)

validation_generator = datagen.flow_from_directory(
    train_data_dir,
    target_size=(img_width, img_height),
    batch_size=batch_size,
    class_mode='categorical',
    subset='validation',
    shuffle=False)

model.fit(
    train_generator,
    epochs=epochs,
    validation_data=validation_generator)

score = model.evaluate(validation_generator, verbose=0)
print('Validation loss:', score[0])
print('Validation accuracy:', score[1])
