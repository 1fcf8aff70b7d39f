"""What the studio remembers beside the recordings: people, studies, visits, and what became of each episode.

`Database.open` gives an asynchronous facade; its `run` has a function of the modules `users`, `tokens`, `studies`,
`sessions` and `episodes` done in one transaction. Those functions take a SQLAlchemy connection first.
"""
