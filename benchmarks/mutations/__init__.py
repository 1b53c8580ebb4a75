"""Changes what a recorded mission is answered, or its trace, and sees whether the replay tells what was changed."""
