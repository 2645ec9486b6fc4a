"""Events on their way in: readers, validation, times, and payments to play with."""
