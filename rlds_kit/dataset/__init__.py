"""Opens, lists and downloads datasets, local or remote, and reads them with their layers."""
