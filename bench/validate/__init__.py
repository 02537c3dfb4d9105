"""What duetime simulates, held against what it must be: closed forms, ns-3, and what else there is.

`python -m validate` prints the tables and fails where one is outside of its tolerance; `make validate` runs
it.
"""
