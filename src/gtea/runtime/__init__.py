"""What everything else runs on: files, progress, the device, threads, compiled functions, random numbers."""
