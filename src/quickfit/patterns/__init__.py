"""Ways of writing a training that causes look for, found in the text of a program."""
