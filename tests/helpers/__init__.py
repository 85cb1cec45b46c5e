"""Tables, hypothesis strategies and checks that several test modules share."""
