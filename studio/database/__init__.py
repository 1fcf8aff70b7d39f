"""What the studio stores besides the recordings: people, studies, sessions, and the state of each episode.

`Database.open` returns an asynchronous facade; its `run` calls a function of the modules `users`, `tokens`, `studies`,
`sessions` and `episodes` in one transaction. The first argument of those functions is a SQLAlchemy connection.
"""
