"""Results of duetime, compared with references: closed forms, ns-3, and other simulators.

`python -m validate` prints the tables and fails where one is outside of its tolerance; `make validate` runs
it.
"""
