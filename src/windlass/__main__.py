"""`python -m windlass` is the `windlass` command."""

from windlass.cli.main import main

if __name__ == "__main__":
    main()
