"""Who a user is, and what the user may do."""
