"""The shapes of data, models and labels, as far as the text of a program tells them."""
