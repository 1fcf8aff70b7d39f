"""Remote datasets: reads any file system of fsspec with range requests and a disk cache; never writes."""
