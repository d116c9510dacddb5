"""What cameras write beside the picture: which way up they were held."""


def exif_data(orientation, order="<"):
    """Return EXIF data that tells an orientation, in the byte order `<` or `>`."""
    from PIL import Image

    data = Image.Exif()
    data.endian = order
    data[0x0112] = orientation
    return data.tobytes()
