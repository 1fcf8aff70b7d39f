"""One module a change of the tables. The ids of revisions are numbers, so that people see which is newer."""
