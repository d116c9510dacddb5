"""Child processes that build a model with one setting and train it on command, measured."""
