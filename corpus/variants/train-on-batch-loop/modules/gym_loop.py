def run_epochs(model, x, y, epochs, batch=24):
    advance = model.train_on_batch
    for e in range(epochs):
        for s in range(0, len(x), batch):
            loss = advance(x[s:s + batch], y[s:s + batch])
        print("epoch", e, float(loss))
