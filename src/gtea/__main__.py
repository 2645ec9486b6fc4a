"""``python -m gtea``: the command line, for launchers that start modules, such as ``torchrun -m gtea train``."""

from gtea.cli.main import main

if __name__ == "__main__":
    main()
