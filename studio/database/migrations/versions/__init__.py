"""One module for each change of the tables. The ids of revisions are numbers, which show the order."""
