"""What is done with whole datasets: verify and repair, edit, compare, replay, plot, show as video, publish."""
