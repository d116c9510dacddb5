import os; os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import random, re
import numpy as np
import tensorflow as tf

random.seed(0)

# ---------------------------------------------------------------- corpus
syll = ['ba','ko','ri','ta','mu','lo','se','vi','na','do','pe','gu','sha','tor','lin','mar']
lexicon = list({''.join(random.choices(syll, k=random.randint(2, 4))) for _ in range(9000)})
weights = [1.0 / (r + 10) for r in range(len(lexicon))]
texts, labels = [], []
for _ in range(4500):
    n = random.randint(40, 80)
    texts.append(' '.join(w + random.choice(['', '', '', ',', '.']) for w in random.choices(lexicon, weights, k=n)))
    labels.append(random.randint(0, 1))

# ---------------------------------------------------------------- vocabulary
def clean(t):
    return re.sub(r'[^a-z ]', '', t.lower()).split()

tokens = [clean(t) for t in texts]
vocab = ['<pad>', '<unk>']
for doc in tokens:
    for w in doc:
        if w not in vocab:
            vocab.append(w)
print('vocab', len(vocab))

# ---------------------------------------------------------------- encode
MAXLEN = 64
X = np.zeros((len(tokens), MAXLEN), 'int32')
for i, doc in enumerate(tokens):
    for j, w in enumerate(doc[:MAXLEN]):
        X[i, j] = vocab.index(w)
y = np.array(labels, 'float32')

# ---------------------------------------------------------------- model
model = tf.keras.Sequential([
    tf.keras.layers.Embedding(len(vocab), 64),
    tf.keras.layers.Conv1D(128, 5, activation='relu'),
    tf.keras.layers.GlobalMaxPooling1D(),
    tf.keras.layers.Dense(64, activation='relu'),
    tf.keras.layers.Dense(1, activation='sigmoid'),
])
model.compile('adam', 'binary_crossentropy', metrics=['accuracy'])
model.fit(X, y, batch_size=64, epochs=2, validation_split=0.1, verbose=2)
