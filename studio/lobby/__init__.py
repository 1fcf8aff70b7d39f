"""People wait for others before anything is made for them: no environment, no worker."""
