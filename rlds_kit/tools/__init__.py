"""Operations on whole datasets: verify and repair, edit, compare, replay, plot, convert to video, publish."""
