"""What a prediction is worth: scores, calibration, thresholds, intervals."""
