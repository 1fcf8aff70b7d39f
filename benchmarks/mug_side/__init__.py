"""What Multi-User Gymnasium and the studio play, and how both are measured."""
