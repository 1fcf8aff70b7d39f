"""A dataset wherever it is: opened, listed, downloaded, and read with its layers."""
