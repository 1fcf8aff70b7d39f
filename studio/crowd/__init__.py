"""A crowd in the studio: people come by a link, and go from consent to a completion code.

Where each is, is a row (`desk`); what is played are studies of their own (`games`), by the sessions and lobbies of the
studio; what it is worth is counted from the recordings (`worth`).
"""
