"""The papers' figures and tables as data: read an experiment, run it, judge the papers' claims."""
