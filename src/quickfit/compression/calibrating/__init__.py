"""The parts of reading calibration data; `quickfit.compression.calibration` is the door to them."""
