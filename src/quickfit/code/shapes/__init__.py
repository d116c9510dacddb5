"""The shapes of arrays, layers and streams, as far as the text of a program tells."""
