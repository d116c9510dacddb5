"""`python -m quickfit` is the same as `quickfit`."""

import os
import sys

if __name__ == "__main__":
    try:
        here = os.getcwd()
    except OSError:  # it was removed, which the command says
        here = ""
    # Python puts the working directory first. A `random.py` that lies there is the script's, whose
    # own Python finds it; quickfit means Python's.
    if sys.path[:1] in ([here], [""]):
        del sys.path[0]

    from quickfit.cli.main import main

    main()
