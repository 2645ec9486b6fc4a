"""Settings, found by the validation part and never by the test part."""
