"""What is remembered of a person: what is found, how it is stored, recalled, corrected and forgotten."""
