"""The JSON objects that duetime reads and writes, as types; `reading` turns their text into them.

They are dictionaries at run time, so that an object is printed and saved as it was read.
"""
