"""``python -m lapwing`` is ``lapwing``."""

from lapwing.cli import main

if __name__ == "__main__":
    main()
