"""What needs the fitted model itself: its posterior, decoder or likelihood."""
