"""`python -m quickfit` is the same as `quickfit`."""

from quickfit.cli.main import main

if __name__ == "__main__":
    main()
