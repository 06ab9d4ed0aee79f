"""What people look at: pictures of matrices, scores and training."""
