"""`python -m rlds_kit` is `rlds-kit`."""

from rlds_kit.cli import main

if __name__ == "__main__":
    main(prog_name="python -m rlds_kit")
