"""Where models and labelled samples come from: files, folders, packs and functions."""
