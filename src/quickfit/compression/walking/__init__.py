"""The parts of the model walker; `quickfit.compression.graph` is the door to them."""
