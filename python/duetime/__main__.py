"""``python -m duetime``: the same as ``duetime``."""

from duetime.cli import main

main()
