"""The papers' figures and tables as data: read an experiment, run it, judge the papers' claims."""

from duetime.experiments.experiment import Experiment, Mistaken, read
from duetime.experiments.places import NoExperiments, Unknown, folder, names, path_of
from duetime.experiments.reproduce import Reproduction, reproduce

__all__ = [
    "Experiment",
    "Mistaken",
    "NoExperiments",
    "Reproduction",
    "Unknown",
    "folder",
    "names",
    "path_of",
    "read",
    "reproduce",
]
