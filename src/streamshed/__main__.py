"""`python -m streamshed` is the command `streamshed`."""

from streamshed.cli.main import main

if __name__ == "__main__":
    main()
