"""``python -m lapwing`` is ``lapwing``."""

from lapwing.cli import run

if __name__ == "__main__":
    run()
