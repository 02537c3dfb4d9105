"""Tables of results: built once, shown in a terminal by the commands and in a notebook as HTML."""
