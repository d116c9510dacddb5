# EXPECT: the step loop calls loss.numpy(), outputs.numpy() with NumPy accuracy, and print(flush) after every single step (sync + console output each step)
# TWIST: none
# ported from my pytorch script, so it still looks a bit like it
import os
import numpy as np
import tensorflow as tf

device = "/CPU:0"
num_epochs = 16
batch_size = 10
learning_rate = 0.01


def get_loader():
    f = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "25_came_from_pytorch", "spirals.csv")
    if not os.path.exists(f):
        os.makedirs(os.path.dirname(f))
        g = np.random.default_rng(5)
        k = g.integers(0, 3, 9000)
        r = g.uniform(0.1, 1, 9000)
        t = r * 4 + k * 2.1 + g.normal(0, 0.15, 9000)
        np.savetxt(f, np.c_[r * np.sin(t), r * np.cos(t), k], fmt="%.5f", delimiter=",", header="x1,x2,cls")
    a = np.loadtxt(f, delimiter=",", dtype=np.float32)
    ds = tf.data.Dataset.from_tensor_slices((a[:, :2], a[:, 2].astype(np.int32)))
    return ds.shuffle(9000, seed=0).batch(batch_size).prefetch(2)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.fc1 = tf.keras.layers.Dense(32, activation="relu")
        self.fc2 = tf.keras.layers.Dense(32, activation="relu")
        self.fc3 = tf.keras.layers.Dense(3)

    def call(self, x):
        return self.fc3(self.fc2(self.fc1(x)))


tf.random.set_seed(1)
train_loader = get_loader()
net = Net()
criterion = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.SGD(learning_rate, momentum=0.9)


@tf.function
def forward_backward(inputs, targets):
    with tf.GradientTape() as tape:
        outputs = net(inputs, training=True)
        loss = criterion(targets, outputs)
    # optimizer.zero_grad()  -- not needed in tf
    grads = tape.gradient(loss, net.trainable_variables)   # loss.backward()
    optimizer.apply_gradients(zip(grads, net.trainable_variables))   # optimizer.step()
    return loss, outputs


loss_hist, acc_hist = [], []
with tf.device(device):
    for epoch in range(num_epochs):
        running_loss, correct, total = 0.0, 0, 0
        for i, (inputs, targets) in enumerate(train_loader):
            loss, outputs = forward_backward(inputs, targets)

            # statistics
            running_loss += loss.numpy()
            predicted = np.argmax(outputs.numpy(), axis=1)
            total += targets.numpy().shape[0]
            correct += (predicted == targets.numpy()).sum().item()
            loss_hist.append(loss.numpy().item())
            acc_hist.append(correct / total)
            print(f"[{epoch + 1}, {i + 1:5d}] loss: {running_loss / (i + 1):.4f} acc: {100 * correct / total:.2f}%", flush=True)

print("Finished Training, steps:", len(loss_hist), "last 100 loss: %.4f" % np.mean(loss_hist[-100:]))
